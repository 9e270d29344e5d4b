pragma solidity 0.8.37;

/// A contract for the clients' tests: state, events with every kind of topic, and every way
/// to fail.
contract Ledger {
    /// The balance is lower than the requested amount.
    error Insufficient(address account, uint256 wanted, uint256 held);

    event Deposited(address indexed from, uint256 indexed purpose, uint256 amount, string note);
    event Stored(uint256 indexed key, uint256 value);

    string public title;
    mapping(address => uint256) public held;
    mapping(uint256 => uint256) public slots;

    constructor(string memory title_) payable {
        title = title_;
        held[msg.sender] = msg.value;
    }

    function deposit(uint256 purpose, string calldata note) external payable {
        held[msg.sender] += msg.value;
        emit Deposited(msg.sender, purpose, msg.value, note);
    }

    function withdraw(uint256 wanted) external {
        uint256 has = held[msg.sender];
        if (has < wanted) revert Insufficient(msg.sender, wanted, has);
        held[msg.sender] = has - wanted;
        (bool sent, ) = msg.sender.call{value: wanted}("");
        require(sent, "not sent");
    }

    function store(uint256 key, uint256 value) external {
        slots[key] = value;
        emit Stored(key, value);
    }

    function storeMany(uint256 first, uint256 count) external {
        for (uint256 key = first; key < first + count; key++) {
            slots[key] = key + 1;
            emit Stored(key, key + 1);
        }
    }

    function requirePositive(int256 number) external pure returns (int256) {
        require(number > 0, "must be positive");
        return number;
    }

    function divide(uint256 a, uint256 b) external pure returns (uint256) {
        return a / b;
    }

    /// A call that keeps 1/64 of the gas back and fails if the rest is too little, so that a gas
    /// estimate that is one unit too low fails.
    function storeThroughItself(uint256 key, uint256 value) external {
        this.store(key, value);
    }
}
