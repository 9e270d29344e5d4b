"use strict";
// Adds the chain to a wallet in the browser (EIP-1193, EIP-3085), if there is a wallet.

// Returns the chain's parameters for the wallet, from the data attributes of a button.
function chainOf(button) {
  return {
    chainId: "0x" + BigInt(button.dataset.chainId).toString(16),
    chainName: button.dataset.name,
    rpcUrls: [`${location.origin}${BASE}/ext/bc/C/rpc`],
    blockExplorerUrls: [`${location.origin}${BASE}`],
    nativeCurrency: { name: button.dataset.coin, symbol: button.dataset.symbol, decimals: 18 },
  };
}

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("add-to-wallet");
  if (!button || !window.ethereum) return;
  const status = document.getElementById("wallet-status");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await window.ethereum.request({ method: "wallet_addEthereumChain", params: [chainOf(button)] });
      status.textContent = "The chain was added to the wallet.";
    } catch (error) {
      status.textContent = error.message;
    }
  });
});
