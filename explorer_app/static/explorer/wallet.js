"use strict";
// The wallets in the browser (EIP-1193): finds them (EIP-6963), and adds the chain to the one that the reader chooses (EIP-3085).

const SETTLING_MS = 300; // wallets announce themselves at once, but some scripts of extensions start late
const IMAGE = /^data:image\//; // EIP-6963: an icon is a data URI; any other would call a foreign host

/** The wallets that announced themselves, by the ID that each gives itself per page. */
const wallets = new Map();

addEventListener("eip6963:announceProvider", ({ detail }) => {
  if (!detail?.info?.uuid || !detail.provider) return;
  wallets.set(detail.info.uuid, detail);
  showWallets();
});
dispatchEvent(new Event("eip6963:requestProvider"));

/** Returns the wallet that sends transactions: the browser's preferred one, else the first that announced itself. */
function preferredWallet() {
  return window.ethereum ?? wallets.values().next().value?.provider;
}

// Returns the chain's parameters for the wallet, from the data attributes of an element.
function chainOf({ dataset }) {
  return {
    chainId: "0x" + BigInt(dataset.chainId).toString(16),
    chainName: dataset.name,
    rpcUrls: [`${location.origin}${RPC}/rpc`],
    blockExplorerUrls: [`${location.origin}${PAGES}`],
    nativeCurrency: { name: dataset.coin || dataset.symbol, symbol: dataset.symbol, decimals: 18 },
  };
}

function walletButton(panel, { name, icon, provider }) {
  const button = document.createElement("button");
  button.type = "button";
  if (IMAGE.test(icon ?? "")) button.append(Object.assign(new Image(), { src: icon, alt: "" }));
  button.append(`Add to ${String(name).slice(0, 40)}`);
  button.addEventListener("click", async () => {
    const status = panel.querySelector(".wallet-status");
    status.textContent = "Confirm in the wallet…";
    try {
      await provider.request({ method: "wallet_addEthereumChain", params: [chainOf(panel)] });
      status.textContent = `The chain was added to ${name}.`;
    } catch (error) {
      status.textContent = `${name} did not add the chain: ${error?.message ?? "it gave no reason"}`;
    }
  });
  return button;
}

/** Shows a button for each wallet; a wallet that does not announce itself is only known as the browser's. */
function showWallets() {
  const panel = document.getElementById("wallets");
  if (!panel) return;
  const found = [...wallets.values()].map(({ info, provider }) => ({ ...info, provider }));
  if (!found.length && window.ethereum) found.push({ name: "the browser's wallet", provider: window.ethereum });
  const line = panel.querySelector(".wallets");
  line.replaceChildren(...found.map((wallet) => walletButton(panel, wallet)));
  line.hidden = !found.length;
  panel.querySelector(".no-wallet").hidden = found.length > 0;
}

document.addEventListener("DOMContentLoaded", () => setTimeout(showWallets, SETTLING_MS));
