"use strict";
// Sends transactions that the page has prepared: with a wallet (EIP-1193), or from an account that the node signs for.

const MOST_LOOKS = 90; // at the receipt, one a second
const MOST_ACCOUNTS = 50;
const MOST_DIGITS = 4000; // of an address of a page
const UNKNOWN_CHAIN = 4902; // EIP-3326

async function ask(method, params = []) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(`${BASE}/ext/bc/C/rpc`, { method: "POST", headers: { "content-type": "application/json" }, body });
  const { result, error } = await answer.json();
  if (error) throw Object.assign(new Error(error.message), { data: error.data });
  return result;
}

// What a transaction would revert with: nodes and wallets put it into their errors each in a way of its own.
function revertedWith(error) {
  const places = [error?.data, error?.data?.data, error?.data?.originalError?.data];
  return places.find((one) => /^0x([0-9a-f]{2})+$/i.test(one) && one.length <= MOST_DIGITS);
}

// Why it was not sent: in the contract's own words where it would revert. Wallets may reject with nothing at all.
async function reason(error) {
  const data = revertedWith(error);
  const told = data === undefined ? undefined : await explained(data).catch(() => undefined);
  return told ?? document.createTextNode(error?.message ?? "No reason was given.");
}

async function explained(data) {
  const answer = await fetch(`${location.pathname}?reverted=${data}`, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return undefined;
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  return made.content;
}

// Asked once for the page; there are none but on a chain to develop against.
let unlocked;
function unlockedAccounts() {
  unlocked ??= ask("eth_accounts").then((found) => found.slice(0, MOST_ACCOUNTS), () => []);
  return unlocked;
}

async function offer(prepared) {
  prepared.dataset.offered = "";
  const send = prepared.querySelector(".send");
  const wallet = send.querySelector('[data-send="wallet"]');
  wallet.hidden = !window.ethereum;
  send.hidden = wallet.hidden;
  const accounts = await unlockedAccounts();
  if (!accounts.length) return;
  send.querySelector("select").append(...accounts.map((one) => new Option(one)));
  send.querySelector(".unlocked").hidden = false;
  send.hidden = false;
}

async function sendWithWallet(button, transaction) {
  const { ethereum } = window;
  const [from] = await ethereum.request({ method: "eth_requestAccounts" });
  const chain = chainOf(button);
  const { chainId } = chain;
  if (BigInt(await ethereum.request({ method: "eth_chainId" })) !== BigInt(chainId)) {
    try {
      await ethereum.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    } catch (error) {
      if ((error?.data?.originalError?.code ?? error?.code) !== UNKNOWN_CHAIN) throw error;
      await ethereum.request({ method: "wallet_addEthereumChain", params: [chain] });
      await ethereum.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    }
  }
  return ethereum.request({ method: "eth_sendTransaction", params: [{ ...transaction, from }] });
}

async function outcome(hash) {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const receipt = await ask("eth_getTransactionReceipt", [hash]).catch(() => null); // the next look may succeed
    if (receipt) {
      const succeeded = receipt.status === "0x1";
      return [succeeded ? "good" : "bad", `${succeeded ? "succeeded" : "failed"} in block ${Number(receipt.blockNumber)}`];
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
  return ["note", "still waits for a block"];
}

function badge(kind, words) {
  const made = document.createElement("span");
  made.className = `badge ${kind}`;
  made.textContent = words;
  return made;
}

async function send(button) {
  const prepared = button.closest(".prepared");
  const says = prepared.querySelector(".says");
  const { to, data, value } = prepared.dataset;
  const buttons = prepared.querySelectorAll("[data-send]");
  for (const one of buttons) one.disabled = true; // a second press would send it again
  says.replaceChildren(badge("note", "being sent"));
  try {
    const transaction = { to, data, value };
    const from = prepared.querySelector("select").value;
    const hash = button.dataset.send === "wallet"
      ? await sendWithWallet(button, transaction)
      : await ask("eth_sendTransaction", [{ ...transaction, from }]);
    const link = document.createElement("a");
    link.href = `${BASE}/tx/${hash}`;
    link.className = "hex";
    link.textContent = hash;
    says.replaceChildren(link, " ", badge("note", "sent"));
    says.lastChild.replaceWith(badge(...(await outcome(hash))));
  } catch (error) {
    const sent = says.querySelector("a");
    says.querySelector(".note").remove();
    says.append(badge("bad", sent ? "nobody knows what became of it" : "not sent"), " ", await reason(error));
  } finally {
    for (const one of buttons) one.disabled = false;
  }
}

function offerAll() {
  for (const one of document.querySelectorAll(".prepared:not([data-offered])")) offer(one);
}

document.addEventListener("DOMContentLoaded", offerAll);
document.addEventListener("htmx:afterSettle", offerAll);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-send]");
  if (button) send(button);
});
