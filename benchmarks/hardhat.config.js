// The network that `hardhat node` simulates: this node's chain ID. Its files are below the configured directory.
import { defineConfig } from "hardhat/config";

const scratch = process.env.BENCH_SCRATCH;

export default defineConfig({
  paths: { artifacts: `${scratch}/artifacts`, cache: `${scratch}/cache` },
  networks: {
    node: { type: "edr-simulated", chainType: "l1", chainId: 43112, loggingEnabled: false },
  },
});
