pragma solidity 0.8.37;

/// Contracts that use warp messages: a messenger between chains, and a validator manager.

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

IWarpMessenger constant WARP = IWarpMessenger(0x0200000000000000000000000000000000000005);

/// Sends texts to messengers of other chains, and takes each text for it once.
contract Messenger {
    event Taken(bytes32 indexed source, address sender, uint256 number, string text);

    mapping(bytes32 => bool) public taken;
    mapping(bytes32 => string) public last;
    uint256 public sent;

    function send(bytes32 destination, address to, string calldata text) external returns (bytes32) {
        return WARP.sendWarpMessage(abi.encode(++sent, destination, to, text));
    }

    function take(uint32 index) external {
        (WarpMessage memory message, bool valid) = WARP.getVerifiedWarpMessage(index);
        require(valid, "not verified");
        (uint256 number, bytes32 destination, address to, string memory text) =
            abi.decode(message.payload, (uint256, bytes32, address, string));
        require(destination == WARP.getBlockchainID() && to == address(this), "for another contract");
        bytes32 id = keccak256(abi.encode(message.sourceChainID, message.originSenderAddress, number));
        require(!taken[id], "taken already");
        taken[id] = true;
        last[message.sourceChainID] = text;
        emit Taken(message.sourceChainID, message.originSenderAddress, number, text);
    }
}

/// The smallest validator manager: its owner decides what it tells the P-Chain.
contract Manager {
    address public immutable owner = msg.sender;

    function tell(bytes calldata message) external returns (bytes32) {
        require(msg.sender == owner, "not the owner");
        return WARP.sendWarpMessage(message);
    }
}
