"use strict";
// Offers the chain to a wallet in the browser (EIP-1193, EIP-3085), where there is one.

// What a wallet is told of the chain, by the data of a button.
function chainOf(button) {
  return {
    chainId: "0x" + BigInt(button.dataset.chainId).toString(16),
    chainName: button.dataset.name,
    rpcUrls: [`${location.origin}${BASE}/ext/bc/C/rpc`],
    blockExplorerUrls: [`${location.origin}${BASE}`],
    nativeCurrency: { name: "AVAX", symbol: "AVAX", decimals: 18 },
  };
}

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("add-to-wallet");
  if (!button || !window.ethereum) return;
  const says = document.getElementById("wallet-says");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await window.ethereum.request({ method: "wallet_addEthereumChain", params: [chainOf(button)] });
      says.textContent = "The wallet has it.";
    } catch (error) {
      says.textContent = error.message;
    }
  });
});
