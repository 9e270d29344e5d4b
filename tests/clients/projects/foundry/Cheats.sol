// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// The cheat codes of forge that the project's tests and script use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function createSelectFork(string calldata endpoint) external returns (uint256);
    function createSelectFork(string calldata endpoint, uint256 height) external returns (uint256);
    function deal(address account, uint256 balance) external;
    function envAddress(string calldata name) external view returns (address);
    function envUint(string calldata name) external view returns (uint256);
    function expectEmit() external;
    function expectPartialRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function getNonce(address account) external view returns (uint64);
    function getRecordedLogs() external returns (Log[] memory);
    function load(address account, bytes32 slot) external view returns (bytes32);
    function prank(address sender) external;
    function recordLogs() external;
    function revertToState(uint256 id) external returns (bool);
    function roll(uint256 height) external;
    function rollFork(uint256 height) external;
    function rpc(string calldata endpoint, string calldata method, string calldata params)
        external
        returns (bytes memory);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function addr(uint256 key) external pure returns (address);
    function snapshotState() external returns (uint256);
    function startBroadcast() external;
    function stopBroadcast() external;
    function store(address account, bytes32 slot, bytes32 value) external;
    function toString(address account) external pure returns (string memory);
    function warp(uint256 time) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
