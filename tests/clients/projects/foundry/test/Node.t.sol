// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {vm} from "../Cheats.sol";

/// Tests that change the node itself, with `vm.rpc`, and check the result on a new fork. Each uses its
/// own account, because forge caches the state that it has read at a height.
contract NodeTest {
    function request(string memory method, string memory first, string memory second) internal {
        vm.rpc("devnet", method, string.concat("[", first, ",", second, "]"));
    }

    function look() internal {
        vm.createSelectFork("devnet");
    }

    function quoted(address account) internal pure returns (string memory) {
        return string.concat('"', vm.toString(account), '"');
    }

    function test_a_balance_is_set() external {
        address account = address(0xba1);
        request("anvil_setBalance", quoted(account), '"0x64"');
        look();
        require(account.balance == 100, "balance");
    }

    function test_code_is_set() external {
        address account = address(0xc0de);
        request("anvil_setCode", quoted(account), '"0x602a5f5260205ff3"');
        look();
        (bool done, bytes memory answer) = account.call("");
        require(done && abi.decode(answer, (uint256)) == 42, "answer");
    }

    function test_a_nonce_is_set() external {
        address account = address(0x90ce);
        request("anvil_setNonce", quoted(account), '"0x9"');
        look();
        require(vm.getNonce(account) == 9, "nonce");
    }

    function test_a_slot_is_set() external {
        address account = address(0x5107);
        string memory slot = '"0x1"';
        string memory value = '"0x000000000000000000000000000000000000000000000000000000000000002a"';
        request("anvil_setStorageAt", quoted(account), string.concat(slot, ",", value));
        look();
        require(uint256(vm.load(account, bytes32(uint256(1)))) == 42, "slot");
    }

    function test_blocks_are_mined_and_time_goes_on() external {
        look();
        (uint256 height, uint256 time) = (block.number, block.timestamp);
        request("anvil_mine", '"0x3"', '"0x3c"');
        look();
        require(block.number == height + 3, "height");
        require(block.timestamp >= time + 120, "time");
    }

    function test_a_snapshot_comes_back() external {
        look();
        uint256 height = block.number;
        bytes memory id = vm.rpc("devnet", "evm_snapshot", "[]");
        request("anvil_mine", '"0x3"', '"0x1"');
        string memory digits = vm.toString(address(uint160(uint256(bytes32(id)) >> (8 * (32 - id.length)))));
        vm.rpc("devnet", "evm_revert", string.concat('["', digits, '"]'));
        look();
        require(block.number == height, "height");
    }
}
