// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Keeps deposits until they can be withdrawn.
contract Vault {
    error StillLocked(uint256 until, uint256 now_);
    error UnknownDeposit(uint256 id);

    event Deposited(address indexed owner, uint256 indexed id, uint256 amount, uint256 until);
    event Withdrawn(address indexed owner, uint256 indexed id, uint256 amount);

    struct Deposit {
        address owner;
        uint256 amount;
        uint256 until;
    }

    Deposit[] public deposits;

    function deposit(uint256 duration) external payable returns (uint256 id) {
        require(msg.value > 0, "Vault: nothing sent");
        id = deposits.length;
        deposits.push(Deposit(msg.sender, msg.value, block.timestamp + duration));
        emit Deposited(msg.sender, id, msg.value, block.timestamp + duration);
    }

    function withdraw(uint256 id) external {
        if (id >= deposits.length) revert UnknownDeposit(id);
        Deposit memory found = deposits[id];
        require(found.owner == msg.sender, "Vault: not the owner");
        if (block.timestamp < found.until) revert StillLocked(found.until, block.timestamp);
        deposits[id].amount = 0;
        emit Withdrawn(msg.sender, id, found.amount);
        (bool sent, ) = msg.sender.call{value: found.amount}("");
        require(sent, "Vault: not taken");
    }
}
