// SPDX-License-Identifier: CC0-1.0
// The contracts that the workloads run. Compiled into ../contracts.py (see there).
pragma solidity 0.8.30;

/// An ERC-20 token whose supply anybody may add to.
contract Token {
    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(uint256 value) external {
        balanceOf[msg.sender] += value;
        totalSupply += value;
        emit Transfer(address(0), msg.sender, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Arithmetic until less than 5,000 gas are left.
contract Burner {
    function burn() external view returns (uint256 x) {
        unchecked {
            while (gasleft() > 5000) {
                x = x * 3 + 7;
                x ^= x >> 3;
            }
        }
    }
}

/// As many token-like logs as asked for.
contract Emitter {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function emitLogs(uint256 count) external {
        for (uint256 i = 0; i < count; i++) {
            emit Transfer(msg.sender, address(uint160(i + 1)), i);
        }
    }
}

/// Splits the value that comes with a call among addresses.
contract Disperser {
    /// Equal parts for the addresses named.
    function pay(address[] calldata to) external payable {
        uint256 part = msg.value / to.length;
        for (uint256 i = 0; i < to.length; i++) {
            payable(to[i]).transfer(part);
        }
    }

    /// One wei for each of `count` addresses counted up from `first`.
    function fill(uint160 first, uint256 count) external payable {
        for (uint160 i = 0; i < count; i++) {
            payable(address(first + i)).transfer(1);
        }
    }
}
