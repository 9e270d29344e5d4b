pragma solidity 0.8.37;

/// Contracts for the explorer to show: a token of each kind, and a market behind a proxy that moves all three in one call.

/// An ERC-20.
contract Coin {
    error Insufficient(address holder, uint256 wanted, uint256 held);

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public name;
    string public symbol;
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    constructor(string memory name_, string memory symbol_, uint256 supply) {
        name = name_;
        symbol = symbol_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "not allowed");
        allowance[from][msg.sender] -= value;
        _move(from, to, value);
        return true;
    }

    function _move(address from, address to, uint256 value) private {
        if (balanceOf[from] < value) revert Insufficient(from, value, balanceOf[from]);
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// An ERC-721 whose first tokens belong to an owner chosen by its creator.
contract Huts {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    string public constant name = "Alpine Huts";
    string public constant symbol = "HUT";
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;

    constructor(address holder, uint256 count) {
        for (uint256 id = 1; id <= count; id++) {
            ownerOf[id] = holder;
            emit Transfer(address(0), holder, id);
        }
        balanceOf[holder] = count;
    }

    function tokenURI(uint256) external pure returns (string memory) {
        return 'data:application/json,{"name":"A hut","description":"Eight beds, one stove, no road."}';
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd || id == 0x5b5e139f;
    }

    function transferFrom(address from, address to, uint256 id) external {
        require(ownerOf[id] == from && msg.sender == from, "not yours");
        ownerOf[id] = to;
        balanceOf[from]--;
        balanceOf[to]++;
        emit Transfer(from, to, id);
    }
}

/// An ERC-1155 that gives tokens of every kind to anyone.
contract Gear {
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);

    mapping(address => mapping(uint256 => uint256)) public balanceOf;

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0xd9b67a26 || id == 0x0e89341c;
    }

    function uri(uint256) external pure returns (string memory) {
        return "https://gear.example/{id}.json";
    }

    function mint(address to, uint256 id, uint256 value) external {
        balanceOf[to][id] += value;
        emit TransferSingle(msg.sender, address(0), to, id, value);
    }

    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata values) external {
        for (uint256 at = 0; at < ids.length; at++) balanceOf[to][ids[at]] += values[at];
        emit TransferBatch(msg.sender, address(0), to, ids, values);
    }
}

/// Sells huts for coins and adds gear to them; its state is in a proxy.
contract Market {
    error NotForSale(uint256 hut);

    event Sold(address indexed buyer, uint256 indexed hut, uint256 price);

    uint256 public constant price = 40 ether;

    Coin public coin;
    Huts public huts;
    Gear public gear;
    address payable public keeper;

    function open(Coin coin_, Huts huts_, Gear gear_) external {
        require(keeper == address(0), "open already");
        coin = coin_;
        huts = huts_;
        gear = gear_;
        keeper = payable(msg.sender);
    }

    function buy(uint256 hut) external payable {
        if (huts.ownerOf(hut) != address(this)) revert NotForSale(hut);
        coin.transferFrom(msg.sender, keeper, price);
        huts.transferFrom(address(this), msg.sender, hut);
        gear.mint(msg.sender, hut % 4, 2);
        keeper.transfer(msg.value);
        emit Sold(msg.sender, hut, price);
    }
}

/// An EIP-1967 proxy.
contract Proxy {
    constructor(address implementation) {
        assembly {
            sstore(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc, implementation)
        }
    }

    fallback() external payable {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let implementation := sload(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc)
            let succeeded := delegatecall(gas(), implementation, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(succeeded) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}
