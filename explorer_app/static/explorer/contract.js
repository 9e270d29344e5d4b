"use strict";
// Sends transactions that the page has prepared: with a wallet (EIP-1193), or from an account that the node signs for.

const MAX_POLLS = 90; // polls for the receipt, one a second
const MAX_ACCOUNTS = 50;
const MAX_DIGITS = 4000; // in the URL of a page
const UNKNOWN_CHAIN = 4902; // EIP-3326

// Sends a body; a node with NODE_RPC_TOKEN_FILE needs a token, which the user enters once for this tab.
async function post(body) {
  const send = (token) => fetch(`${RPC}/rpc`, {
    method: "POST", headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) }, body,
  });
  const answer = await send(sessionStorage.getItem("rpc-token"));
  if (answer.status !== 401) return answer;
  const token = prompt("The RPC interface of this node needs a token:")?.trim();
  if (!token) return answer;
  sessionStorage.setItem("rpc-token", token);
  return send(token);
}

async function ask(method, params = []) {
  const answer = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  if (answer.status === 401) throw new Error((await answer.text()).trim());
  const { result, error } = await answer.json();
  if (error) throw Object.assign(new Error(error.message), { data: error.data });
  return result;
}

// Returns the revert data of a failed transaction; nodes and wallets place it differently in their errors.
function revertedWith(error) {
  const places = [error?.data, error?.data?.data, error?.data?.originalError?.data];
  return places.find((data) => /^0x([0-9a-f]{2})+$/i.test(data) && data.length <= MAX_DIGITS);
}

// Returns why a transaction was not sent: the decoded revert reason, if there is one. Wallets may give no reason.
async function reason(error) {
  const data = revertedWith(error);
  const explanation = data === undefined ? undefined : await explained(data).catch(() => undefined);
  return explanation ?? document.createTextNode(error?.message ?? "No reason was given.");
}

async function explained(data) {
  const answer = await fetch(`${location.pathname}?reverted=${data}`, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return undefined;
  const element = document.createElement("template");
  element.innerHTML = await answer.text();
  return element.content;
}

// Requested once per page; only a development chain has unlocked accounts.
let unlocked;
function unlockedAccounts() {
  unlocked ??= ask("eth_accounts").then((accounts) => accounts.slice(0, MAX_ACCOUNTS), () => []);
  return unlocked;
}

async function showButtons(prepared) {
  prepared.dataset.offered = "";
  const send = prepared.querySelector(".send");
  const wallet = send.querySelector('[data-send="wallet"]');
  wallet.hidden = !preferredWallet();
  send.hidden = wallet.hidden;
  const accounts = await unlockedAccounts();
  if (!accounts.length) return;
  send.querySelector("select").append(...accounts.map((account) => new Option(account)));
  send.querySelector(".unlocked").hidden = false;
  send.hidden = false;
}

async function sendWithWallet(button, transaction) {
  const ethereum = preferredWallet();
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
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    const receipt = await ask("eth_getTransactionReceipt", [hash]).catch(() => null); // the next poll may succeed
    if (receipt) {
      const succeeded = receipt.status === "0x1";
      return [succeeded ? "good" : "bad", `${succeeded ? "succeeded" : "failed"} in block ${Number(receipt.blockNumber)}`];
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
  return ["note", "still pending"];
}

function badge(kind, text) {
  const element = document.createElement("span");
  element.className = `badge ${kind}`;
  element.textContent = text;
  return element;
}

async function send(button) {
  const prepared = button.closest(".prepared");
  const status = prepared.querySelector(".send-status");
  const { to, data, value } = prepared.dataset;
  const buttons = prepared.querySelectorAll("[data-send]");
  for (const other of buttons) other.disabled = true; // a second press would send it again
  status.replaceChildren(badge("note", "sending"));
  try {
    const transaction = { to, data, value };
    const from = prepared.querySelector("select").value;
    const hash = button.dataset.send === "wallet"
      ? await sendWithWallet(button, transaction)
      : await ask("eth_sendTransaction", [{ ...transaction, from }]);
    const link = document.createElement("a");
    link.href = `${PAGES}/tx/${hash}`;
    link.className = "hex";
    link.textContent = hash;
    status.replaceChildren(link, " ", badge("note", "sent"));
    status.lastChild.replaceWith(badge(...(await outcome(hash))));
  } catch (error) {
    const sent = status.querySelector("a");
    status.querySelector(".note").remove();
    status.append(badge("bad", sent ? "outcome unknown" : "not sent"), " ", await reason(error));
  } finally {
    for (const other of buttons) other.disabled = false;
  }
}

function showAllButtons() {
  for (const prepared of document.querySelectorAll(".prepared:not([data-offered])")) showButtons(prepared);
}

document.addEventListener("DOMContentLoaded", showAllButtons);
document.addEventListener("htmx:afterSettle", showAllButtons);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-send]");
  if (button) send(button);
});
