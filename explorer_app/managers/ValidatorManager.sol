// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A message that a transaction brings in its access list.
struct WarpMessage {
    bytes32 sourceChainID;
    address originSenderAddress;
    bytes payload;
}

interface IWarpMessenger {
    function sendWarpMessage(bytes calldata payload) external returns (bytes32 messageID);
    function getVerifiedWarpMessage(uint32 index) external view returns (WarpMessage memory message, bool valid);
    function getBlockchainID() external view returns (bytes32 blockchainID);
}

/// Addresses of the P-Chain, of which `threshold` must sign.
struct PChainOwner {
    uint32 threshold;
    address[] addresses;
}

/// A validator of the conversion.
struct InitialValidator {
    bytes nodeID;
    bytes blsPublicKey;
    uint64 weight;
}

/// What the conversion ID is the hash of.
struct ConversionData {
    bytes32 subnetID;
    bytes32 validatorManagerBlockchainID;
    address validatorManagerAddress;
    InitialValidator[] initialValidators;
}

enum ValidatorStatus {
    Unknown,
    PendingAdded,
    Active,
    PendingRemoved,
    Completed
}

struct Validator {
    ValidatorStatus status;
    bytes nodeID;
    uint64 startingWeight;
    uint64 sentNonce;
    uint64 receivedNonce;
    uint64 weight;
    uint64 startTime;
    uint64 endTime;
}

/// The validator manager of an L1, on a chain of the L1: it tells the P-Chain who validates, by warp messages.
///
/// Proof of authority (`stakePerWeight` is 0): the owner adds and removes validators and changes their weights.
/// Proof of stake: anyone adds a validator with coins of this chain, and the weight follows from the stake. Who has staked
/// ends the validation, and gets the stake back when the P-Chain has removed the validator. The owner ends the validations
/// of the conversion, which have no stake.
///
/// Each change has two steps: `initiate…` sends a message to the P-Chain, and `complete…` takes the P-Chain's answer, which
/// anyone may bring. Names of functions and events are those of ACP-99.
///
/// Not here: rewards, which would need the native minter; delegation; a shortest time of staking.
contract ValidatorManager {
    // A genesis file sets the first five slots, in this order. There is no constructor.

    /// Who decides about validators without stake.
    address public owner;
    /// Wei for each unit of weight; 0: proof of authority.
    uint256 public stakePerWeight;
    /// The least stake in wei.
    uint256 public minimumStake;
    /// How much of the total weight may change in a period, in per cent; 0: all of it.
    uint256 public churnPercentage;
    /// The length of such a period in seconds.
    uint256 public churnPeriod;

    /// The L1; 0 before `initializeValidatorSet`.
    bytes32 public subnetID;
    /// The weight of all validators, those included whose registration or removal is pending.
    uint64 public l1TotalWeight;
    /// What stakers whose accounts did not take their stake can withdraw.
    mapping(address => uint256) public withdrawable;

    IWarpMessenger private constant WARP = IWarpMessenger(0x0200000000000000000000000000000000000005);
    uint64 private constant REGISTRATION_PERIOD = 12 hours; // the P-Chain takes at most a day
    bytes32 private constant P_CHAIN = 0;
    uint256 private constant BLS_KEY_LENGTH = 48;
    uint256 private constant NODE_ID_LENGTH = 20;
    uint256 private constant SEND_GAS = 50_000;

    struct Stake {
        address staker;
        uint256 amount;
    }

    mapping(bytes32 => Validator) private _validators;
    mapping(bytes32 => Stake) private _stakes;
    mapping(bytes20 => bytes32) private _validationIDs;
    uint64 private _periodStart;
    uint64 private _periodWeight;
    uint128 private _periodChange;

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event RegisteredInitialValidator(
        bytes32 indexed validationID, bytes20 indexed nodeID, bytes32 indexed subnetID, uint64 weight, uint32 index
    );
    event InitiatedValidatorRegistration(
        bytes32 indexed validationID,
        bytes20 indexed nodeID,
        bytes32 registrationMessageID,
        uint64 registrationExpiry,
        uint64 weight
    );
    event CompletedValidatorRegistration(bytes32 indexed validationID, uint64 weight);
    event InitiatedValidatorWeightUpdate(
        bytes32 indexed validationID, uint64 nonce, bytes32 weightUpdateMessageID, uint64 weight
    );
    event CompletedValidatorWeightUpdate(bytes32 indexed validationID, uint64 nonce, uint64 weight);
    event InitiatedValidatorRemoval(
        bytes32 indexed validationID, bytes32 validatorWeightMessageID, uint64 weight, uint64 endTime
    );
    event CompletedValidatorRemoval(bytes32 indexed validationID);
    event StakeReturned(bytes32 indexed validationID, address indexed staker, uint256 amount, bool withdrawable);

    modifier onlyOwner() {
        require(msg.sender == owner, "only the owner may do this");
        _;
    }

    modifier initialized() {
        require(subnetID != 0, "the validators of the conversion are not set yet");
        _;
    }

    /// Takes the validators of the conversion from the P-Chain's message about it.
    function initializeValidatorSet(ConversionData calldata conversion, uint32 messageIndex) external {
        require(subnetID == 0, "the validators of the conversion are set already");
        require(
            conversion.validatorManagerBlockchainID == WARP.getBlockchainID()
                && conversion.validatorManagerAddress == address(this),
            "the conversion names another manager"
        );
        bytes memory encoded = abi.encodePacked(
            uint16(0),
            conversion.subnetID,
            conversion.validatorManagerBlockchainID,
            uint32(20),
            conversion.validatorManagerAddress,
            uint32(conversion.initialValidators.length)
        );
        subnetID = conversion.subnetID;
        uint64 total;
        for (uint32 index = 0; index < conversion.initialValidators.length; index++) {
            InitialValidator calldata initial = conversion.initialValidators[index];
            require(initial.blsPublicKey.length == BLS_KEY_LENGTH, "a BLS key has 48 bytes");
            encoded = abi.encodePacked(
                encoded, uint32(initial.nodeID.length), initial.nodeID, initial.blsPublicKey, initial.weight
            );
            bytes32 validationID = sha256(abi.encodePacked(conversion.subnetID, index));
            _add(validationID, initial.nodeID, initial.weight, ValidatorStatus.Active);
            total += initial.weight;
            emit RegisteredInitialValidator(
                validationID, bytes20(initial.nodeID), conversion.subnetID, initial.weight, index
            );
        }
        l1TotalWeight = total;
        bytes memory payload = _fromPChain(messageIndex, 0, 38);
        require(_word(payload, 6) == sha256(encoded), "the P-Chain's message is about another conversion");
    }

    /// Asks the P-Chain to add a validator, within twelve hours. Its owners' addresses are sorted.
    function initiateValidatorRegistration(
        bytes calldata nodeID,
        bytes calldata blsPublicKey,
        PChainOwner calldata remainingBalanceOwner,
        PChainOwner calldata disableOwner,
        uint64 weight
    ) external payable initialized returns (bytes32 validationID) {
        if (stakePerWeight == 0) {
            require(msg.sender == owner, "only the owner may do this");
            require(msg.value == 0, "there is no stake here");
        } else {
            require(msg.value == weight * stakePerWeight, "the stake is not that of the weight");
            require(msg.value >= minimumStake, "the stake is too small");
        }
        require(blsPublicKey.length == BLS_KEY_LENGTH, "a BLS key has 48 bytes");
        uint64 expiry = uint64(block.timestamp) + REGISTRATION_PERIOD;
        bytes memory message = abi.encodePacked(
            uint16(0),
            uint32(1),
            subnetID,
            uint32(nodeID.length),
            nodeID,
            blsPublicKey,
            expiry,
            _encoded(remainingBalanceOwner),
            _encoded(disableOwner),
            weight
        );
        validationID = sha256(message);
        _change(weight, true);
        _add(validationID, nodeID, weight, ValidatorStatus.PendingAdded);
        _stakes[validationID] = Stake(stakePerWeight == 0 ? address(0) : msg.sender, msg.value);
        l1TotalWeight += weight;
        bytes32 messageID = WARP.sendWarpMessage(message);
        emit InitiatedValidatorRegistration(validationID, bytes20(nodeID), messageID, expiry, weight);
    }

    /// Takes the P-Chain's message that a validator was added.
    function completeValidatorRegistration(uint32 messageIndex) external returns (bytes32 validationID) {
        bytes memory payload = _fromPChain(messageIndex, 2, 39);
        validationID = _word(payload, 6);
        Validator storage validator = _validators[validationID];
        require(validator.status == ValidatorStatus.PendingAdded, "no registration of this validator is pending");
        require(payload[38] == 0x01, "the validator is not registered");
        validator.status = ValidatorStatus.Active;
        validator.startTime = uint64(block.timestamp);
        emit CompletedValidatorRegistration(validationID, validator.weight);
    }

    /// Asks the P-Chain to change a validator's weight. Weights of stakers do not change.
    function initiateValidatorWeightUpdate(bytes32 validationID, uint64 newWeight)
        external
        onlyOwner
        returns (uint64 nonce, bytes32 messageID)
    {
        require(newWeight != 0, "a validator without weight is to be removed");
        require(_stakes[validationID].staker == address(0), "the weight follows from the stake");
        Validator storage validator = _active(validationID);
        uint64 weight = validator.weight;
        _change(newWeight > weight ? newWeight - weight : weight - newWeight, true);
        l1TotalWeight = l1TotalWeight - weight + newWeight;
        validator.weight = newWeight;
        (nonce, messageID) = _send(validationID, validator, newWeight);
        emit InitiatedValidatorWeightUpdate(validationID, nonce, messageID, newWeight);
    }

    /// Takes the P-Chain's message that a weight was changed.
    function completeValidatorWeightUpdate(uint32 messageIndex) external returns (bytes32 validationID, uint64 nonce) {
        bytes memory payload = _fromPChain(messageIndex, 3, 54);
        validationID = _word(payload, 6);
        uint256 numbers = uint256(_word(payload, 22)); // the last sixteen bytes are nonce and weight
        nonce = uint64(numbers >> 64);
        Validator storage validator = _validators[validationID];
        require(
            validator.status == ValidatorStatus.Active || validator.status == ValidatorStatus.PendingRemoved,
            "the validator is not active"
        );
        require(nonce > validator.receivedNonce && nonce <= validator.sentNonce, "the nonce is not awaited");
        validator.receivedNonce = nonce;
        emit CompletedValidatorWeightUpdate(validationID, nonce, uint64(numbers));
    }

    /// Asks the P-Chain to remove a validator. The last one stays. A staker may leave at any time.
    function initiateValidatorRemoval(bytes32 validationID) external {
        Validator storage validator = _active(validationID);
        address staker = _stakes[validationID].staker;
        require(msg.sender == (staker == address(0) ? owner : staker), "only the owner or the staker may do this");
        uint64 weight = validator.weight;
        require(weight < l1TotalWeight, "the last validator stays");
        _change(weight, staker == address(0));
        l1TotalWeight -= weight;
        validator.weight = 0;
        validator.status = ValidatorStatus.PendingRemoved;
        validator.endTime = uint64(block.timestamp);
        (, bytes32 messageID) = _send(validationID, validator, 0);
        emit InitiatedValidatorRemoval(validationID, messageID, weight, validator.endTime);
    }

    /// Takes the P-Chain's message that a validator was removed, or was not added in time. A stake returns.
    function completeValidatorRemoval(uint32 messageIndex) external returns (bytes32 validationID) {
        bytes memory payload = _fromPChain(messageIndex, 2, 39);
        validationID = _word(payload, 6);
        Validator storage validator = _validators[validationID];
        require(payload[38] == 0x00, "the validator is registered");
        if (validator.status == ValidatorStatus.PendingAdded) {
            l1TotalWeight -= validator.weight;
            validator.weight = 0;
            validator.endTime = uint64(block.timestamp);
        } else {
            require(validator.status == ValidatorStatus.PendingRemoved, "no removal of this validator is pending");
        }
        validator.status = ValidatorStatus.Completed;
        delete _validationIDs[bytes20(validator.nodeID)];
        emit CompletedValidatorRemoval(validationID);
        _return(validationID);
    }

    /// Sends a stake that its staker's account did not take when it returned.
    function withdraw(address payable to) external {
        uint256 amount = withdrawable[msg.sender];
        withdrawable[msg.sender] = 0;
        (bool sent,) = to.call{value: amount}("");
        require(sent, "the account does not take the coins");
    }

    /// Sends the last message about a validator's weight again, for nodes that have lost it.
    function resendValidatorWeight(bytes32 validationID) external returns (bytes32 messageID) {
        Validator storage validator = _validators[validationID];
        require(validator.sentNonce > validator.receivedNonce, "no message is pending");
        return WARP.sendWarpMessage(_weightMessage(validationID, validator.sentNonce, validator.weight));
    }

    function transferOwnership(address newOwner) external onlyOwner {
        require(newOwner != address(0), "there must be an owner");
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function getValidator(bytes32 validationID) external view returns (Validator memory) {
        return _validators[validationID];
    }

    /// Returns who has staked for a validator, and how much. The amount is 0 after its return.
    function getStake(bytes32 validationID) external view returns (address staker, uint256 amount) {
        Stake storage stake = _stakes[validationID];
        return (stake.staker, stake.amount);
    }

    /// Returns the validation of a node that is registered here or will be; 0 if there is none.
    function getNodeValidationID(bytes calldata nodeID) external view returns (bytes32) {
        return _validationIDs[bytes20(nodeID)];
    }

    function _add(bytes32 validationID, bytes calldata nodeID, uint64 weight, ValidatorStatus status) private {
        require(nodeID.length == NODE_ID_LENGTH && bytes20(nodeID) != 0, "a node ID has 20 bytes, not all of them 0");
        require(weight != 0, "a validator needs a weight");
        require(_validationIDs[bytes20(nodeID)] == 0, "the node is registered already");
        _validationIDs[bytes20(nodeID)] = validationID;
        Validator storage validator = _validators[validationID];
        validator.status = status;
        validator.nodeID = nodeID;
        validator.startingWeight = weight;
        validator.weight = weight;
        if (status == ValidatorStatus.Active) validator.startTime = uint64(block.timestamp);
    }

    /// Counts a change of the total weight, before it happens. One that is not limited leaves less for the others.
    function _change(uint64 amount, bool isLimited) private {
        if (churnPercentage == 0) return;
        if (block.timestamp >= _periodStart + churnPeriod) {
            _periodStart = uint64(block.timestamp);
            _periodWeight = l1TotalWeight;
            _periodChange = 0;
        }
        _periodChange += amount;
        require(
            !isLimited || uint256(_periodChange) * 100 <= uint256(_periodWeight) * churnPercentage,
            "the total weight would change too much in this period"
        );
    }

    function _send(bytes32 validationID, Validator storage validator, uint64 weight)
        private
        returns (uint64 nonce, bytes32 messageID)
    {
        nonce = ++validator.sentNonce;
        messageID = WARP.sendWarpMessage(_weightMessage(validationID, nonce, weight));
    }

    function _return(bytes32 validationID) private {
        Stake storage stake = _stakes[validationID];
        (address staker, uint256 amount) = (stake.staker, stake.amount);
        if (amount == 0) return;
        stake.amount = 0;
        (bool sent,) = staker.call{value: amount, gas: SEND_GAS}("");
        if (!sent) withdrawable[staker] += amount;
        emit StakeReturned(validationID, staker, amount, !sent);
    }

    function _active(bytes32 validationID) private view returns (Validator storage validator) {
        validator = _validators[validationID];
        require(validator.status == ValidatorStatus.Active, "the validator is not active");
    }

    /// Returns the payload of a message of the P-Chain that the transaction brings, of a type and length.
    function _fromPChain(uint32 messageIndex, uint32 messageType, uint256 length)
        private
        view
        returns (bytes memory payload)
    {
        (WarpMessage memory message, bool valid) = WARP.getVerifiedWarpMessage(messageIndex);
        require(valid, "the message is not signed by enough validators");
        require(
            message.sourceChainID == P_CHAIN && message.originSenderAddress == address(0),
            "the message is not of the P-Chain"
        );
        payload = message.payload;
        require(
            payload.length == length && uint256(_word(payload, 0)) >> 208 == messageType,
            "the P-Chain's message says something else"
        );
    }

    function _weightMessage(bytes32 validationID, uint64 nonce, uint64 weight) private pure returns (bytes memory) {
        return abi.encodePacked(uint16(0), uint32(3), validationID, nonce, weight);
    }

    function _encoded(PChainOwner calldata given) private pure returns (bytes memory encoded) {
        uint256 count = given.addresses.length;
        require(
            given.threshold <= count && (given.threshold != 0 || count == 0), "the owner's threshold does not fit"
        );
        encoded = abi.encodePacked(given.threshold, uint32(count));
        for (uint256 index = 0; index < count; index++) {
            require(
                index == 0 || given.addresses[index - 1] < given.addresses[index], "the owner's addresses are not sorted"
            );
            encoded = abi.encodePacked(encoded, given.addresses[index]);
        }
    }

    /// Returns 32 bytes from an offset, at which as many must follow.
    function _word(bytes memory data, uint256 offset) private pure returns (bytes32 word) {
        require(data.length >= offset + 32, "the P-Chain's message is too short");
        assembly ("memory-safe") {
            word := mload(add(add(data, 32), offset))
        }
    }
}
