// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Vm, vm} from "../Cheats.sol";
import {Counter} from "../contracts/Counter.sol";
import {Token} from "../contracts/Token.sol";
import {Vault} from "../contracts/Vault.sol";

/// Tests on a fork of a node on which script/Deploy.s.sol has been run; forge fetches state as it needs it.
contract ForkTest {
    event Transfer(address indexed from, address indexed to, uint256 value);

    address deployer = vm.envAddress("DEPLOYER");
    Token token = Token(vm.envAddress("TOKEN"));
    Vault vault = Vault(vm.envAddress("VAULT"));
    Counter counter = Counter(vm.envAddress("COUNTER"));
    Counter fixedCounter = Counter(vm.envAddress("FIXED_COUNTER"));
    uint256 height = vm.envUint("HEIGHT");

    function equal(uint256 found, uint256 wanted) internal pure {
        require(found == wanted, "not equal");
    }

    function test_the_chain_is_the_nodes() external view {
        equal(block.chainid, 43112);
        equal(block.number, height);
    }

    function test_code_is_read() external view {
        require(address(token).code.length > 0, "no code");
        require(address(fixedCounter).codehash == address(counter).codehash, "another code");
        equal(address(0xdead).code.length, 0);
    }

    function test_storage_is_read() external view {
        equal(token.balanceOf(address(vault)), 25 ether);
        equal(token.balanceOf(deployer), 975 ether);
        equal(counter.count(), 2);
        equal(uint256(vm.load(address(fixedCounter), 0)), 1);
    }

    function test_balances_and_nonces_are_read() external view {
        equal(address(vault).balance, 3 ether);
        equal(address(0xC0FFEE).balance, 5);
        require(vm.getNonce(deployer) >= 10, "nonce");
    }

    function test_a_holder_is_pranked() external {
        vm.prank(deployer);
        token.transfer(address(0xB0B), 5);
        equal(token.balanceOf(address(0xB0B)), 5);
    }

    function test_a_transfer_is_emitted() external {
        vm.expectEmit();
        emit Transfer(deployer, address(0xB0B), 6);
        vm.prank(deployer);
        token.transfer(address(0xB0B), 6);
    }

    function test_what_tests_did_is_not_there_for_others() external view {
        equal(token.balanceOf(address(0xB0B)), 0);
    }

    function test_more_than_is_held_is_refused() external {
        bytes memory wanted = abi.encodeWithSelector(
            Token.InsufficientBalance.selector, address(this), 1, 0
        );
        vm.expectRevert(wanted);
        token.transfer(address(0xB0B), 1);
    }

    function test_a_reason_is_read() external {
        vm.expectRevert(bytes("Counter: not today"));
        counter.refuse();
    }

    function test_a_vault_waits_for_its_time() external {
        vm.prank(deployer);
        vm.expectPartialRevert(Vault.StillLocked.selector);
        vault.withdraw(0);
        vm.warp(block.timestamp + 2 days);
        uint256 before = deployer.balance;
        vm.prank(deployer);
        vault.withdraw(0);
        equal(deployer.balance, before + 3 ether);
    }

    function test_cheats_write_over_what_was_read() external {
        vm.deal(address(0xC0FFEE), 9);
        vm.store(address(counter), 0, bytes32(uint256(4)));
        vm.roll(block.number + 7);
        equal(address(0xC0FFEE).balance, 9);
        equal(counter.count(), 4);
        equal(block.number, height + 7);
    }

    function test_states_are_kept_and_come_back() external {
        uint256 id = vm.snapshotState();
        counter.increment();
        equal(counter.count(), 3);
        require(vm.revertToState(id), "unknown");
        equal(counter.count(), 2);
    }

    function test_logs_are_recorded() external {
        vm.recordLogs();
        counter.increment();
        Vm.Log[] memory logs = vm.getRecordedLogs();
        equal(logs.length, 1);
        require(logs[0].emitter == address(counter), "emitter");
    }

    function test_a_permit_is_taken() external {
        address owner = vm.addr(77);
        bytes32 inner = keccak256(
            abi.encode(
                keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"),
                owner, address(this), 11, 0, block.timestamp
            )
        );
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", token.DOMAIN_SEPARATOR(), inner));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(77, digest);
        token.permit(owner, address(this), 11, block.timestamp, v, r, s);
        equal(token.allowance(owner, address(this)), 11);
    }

    function test_the_chain_is_read_at_an_earlier_height() external {
        vm.createSelectFork("devnet", 0);
        equal(block.number, 0);
        equal(address(token).code.length, 0);
        vm.createSelectFork("devnet", height);
        require(address(token).code.length > 0, "no code");
    }

    function test_a_fork_rolls_back() external {
        vm.createSelectFork("devnet", height);
        vm.rollFork(0);
        equal(address(0xC0FFEE).balance, 0);
        vm.rollFork(height);
        equal(address(0xC0FFEE).balance, 5);
    }

    function test_the_hash_of_an_earlier_block_is_read() external view {
        require(blockhash(height - 1) != bytes32(0), "no hash");
    }

    function testFuzz_any_holder_is_read(address holder) external view {
        require(token.balanceOf(holder) <= token.totalSupply(), "too much");
    }
}
