// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// An ERC-20 token with permits (EIP-2612): the kind of contract that projects test most.
contract Token {
    error InsufficientBalance(address account, uint256 wanted, uint256 held);
    error InsufficientAllowance(address spender, uint256 wanted, uint256 allowed);
    error NotOwner(address caller);
    error ExpiredPermit(uint256 deadline);
    error WrongSigner(address recovered, address owner);

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    /// Slot 0, which tests write to.
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;
    uint256 public totalSupply;

    string public constant name = "Sample";
    string public constant symbol = "SMP";
    uint8 public constant decimals = 18;
    address public immutable owner;

    bytes32 private constant PERMIT =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    constructor(uint256 supply) {
        owner = msg.sender;
        _mint(msg.sender, supply);
    }

    function mint(address to, uint256 value) external {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _mint(to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < value) revert InsufficientAllowance(msg.sender, value, allowed);
        allowance[from][msg.sender] = allowed - value;
        _move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(msg.sender, spender, value);
        return true;
    }

    function permit(
        address from,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        if (block.timestamp > deadline) revert ExpiredPermit(deadline);
        bytes32 inner = keccak256(abi.encode(PERMIT, from, spender, value, nonces[from]++, deadline));
        address signer = ecrecover(keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), inner)), v, r, s);
        if (signer != from) revert WrongSigner(signer, from);
        _approve(from, spender, value);
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name)),
                keccak256("1"),
                block.chainid,
                address(this)
            )
        );
    }

    function _mint(address to, uint256 value) private {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function _approve(address from, address spender, uint256 value) private {
        allowance[from][spender] = value;
        emit Approval(from, spender, value);
    }

    function _move(address from, address to, uint256 value) private {
        uint256 held = balanceOf[from];
        if (held < value) revert InsufficientBalance(from, value, held);
        balanceOf[from] = held - value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
