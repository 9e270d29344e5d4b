// SPDX-License-Identifier: MIT
pragma solidity ^0.8.22;

import {Box} from "./Box.sol";

contract BoxV2 is Box {
    uint256 public added;

    function increment() external onlyOwner {
        value += 1;
        added += 1;
    }

    function version() external pure override returns (uint256) {
        return 2;
    }
}
