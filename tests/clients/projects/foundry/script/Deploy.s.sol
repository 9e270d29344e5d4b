// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {vm} from "../Cheats.sol";
import {Counter} from "../contracts/Counter.sol";
import {Token} from "../contracts/Token.sol";
import {Vault} from "../contracts/Vault.sol";

/// Deploys all contracts, one of them with the deterministic deployer, and calls them.
contract Deploy {
    address constant CREATE2_DEPLOYER = 0x4e59b44847b379578588920cA78FbF26c0B4956C;

    function run() external returns (Token token, Vault vault, Counter counter, Counter fixed_) {
        vm.startBroadcast();
        token = new Token(1000 ether);
        vault = new Vault();
        counter = new Counter();
        fixed_ = new Counter{salt: bytes32(uint256(7))}();
        token.transfer(address(vault), 25 ether);
        vault.deposit{value: 3 ether}(1 days);
        counter.increment();
        counter.say();
        fixed_.increment();
        payable(address(0xC0FFEE)).transfer(5);
        vm.stopBroadcast();

        bytes32 code = keccak256(type(Counter).creationCode);
        bytes32 hash = keccak256(abi.encodePacked(bytes1(0xff), CREATE2_DEPLOYER, uint256(7), code));
        require(address(fixed_) == address(uint160(uint256(hash))), "not where it should be");
    }
}
