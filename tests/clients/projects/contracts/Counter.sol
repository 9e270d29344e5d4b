// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import "hardhat/console.sol";

/// Counts, logs to the console, fails in every way, and returns the values that it sees of its block.
contract Counter {
    error TooFar(uint256 count, uint256 limit);

    event Counted(address indexed by, uint256 count);

    uint256 public constant LIMIT = 5;
    /// Slot 0, which tests write to.
    uint256 public count;

    function increment() external {
        if (count == LIMIT) revert TooFar(count, LIMIT);
        count += 1;
        console.log("Counter: %s counts to %d", msg.sender, count);
        emit Counted(msg.sender, count);
    }

    function decrement() external {
        count -= 1;
        emit Counted(msg.sender, count);
    }

    function refuse() external {
        count += 1;
        console.log("Counter: refuses after", count);
        revert("Counter: not today");
    }

    function failSilently() external {
        count += 1;
        assembly {
            revert(0, 0)
        }
    }

    function failAssertion() external {
        count += 1;
        assert(false);
    }

    /// Each line begins with the same words, so that it can be found in a node's log.
    function say() external {
        count += 1;
        console.log("Counter says");
        console.log("Counter says", count);
        console.log("Counter says", true, address(this) == msg.sender);
        console.log("Counter says", 0x70997970C51812dc3A010C7d01b50e0d17dc79C8);
        console.log("Counter says %s of %s", "one", count);
        console.log("Counter says %d%%", 100);
        console.log("Counter says", "two", "words", 3);
    }

    function environment()
        external
        view
        returns (
            uint256 chainId,
            uint256 number,
            uint256 time,
            address coinbase,
            uint256 prevrandao,
            uint256 baseFee,
            uint256 gasLimit
        )
    {
        return (
            block.chainid,
            block.number,
            block.timestamp,
            block.coinbase,
            block.prevrandao,
            block.basefee,
            block.gaslimit
        );
    }
}
