"use strict";
// Copy buttons, URLs of this host, and live updates at new heads.

// The prefix of all paths of the node behind a proxy; usually empty.
const BASE = document.documentElement.dataset.base;
// The prefix of the pages of the EVM chain that the page shows, and that of its interfaces.
const PAGES = document.documentElement.dataset.pages;
const RPC = document.documentElement.dataset.rpc;

const copied = new WeakMap();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  // Without a text of its own a button copies the element before it, whose URLs depend on the page's host.
  await navigator.clipboard.writeText(button.dataset.copy || button.previousElementSibling.textContent);
  button.classList.add("done");
  clearTimeout(copied.get(button));
  copied.set(button, setTimeout(() => button.classList.remove("done"), 1200));
});

function show(root) {
  // Pages over plain HTTP from another machine have no clipboard; the buttons remain hidden.
  if (navigator.clipboard)
    for (const button of root.querySelectorAll("button.copy")) button.hidden = false;
  const secure = location.protocol === "https:" ? "s" : "";
  for (const url of root.querySelectorAll("[data-scheme]"))
    url.textContent = `${url.dataset.scheme}${secure}://${location.host}${url.dataset.path}`;
  watchLists(root);
}

// Subscribes to new heads at the node's WebSocket; live parts of the page reload at each head.
function follow() {
  const url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${RPC}/ws`;
  const socket = new WebSocket(url);
  socket.onopen = () =>
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
  socket.onmessage = (message) => {
    if (JSON.parse(message.data).method === "eth_subscription") announceHead();
  };
  socket.onclose = () => setTimeout(follow, 3000);
}

function announceHead() {
  // A reload would clear the selection.
  if (!document.hidden && document.getSelection().isCollapsed) document.body.dispatchEvent(new CustomEvent("head"));
}

document.addEventListener("DOMContentLoaded", () => {
  show(document);
  if (!document.querySelector("[data-live]")) return;
  follow();
  setInterval(announceHead, 10_000); // the P-Chain, ages, and health
});

const reading = new WeakMap();

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.elt.matches("[data-live]")) reading.set(detail.xhr, keepReading(detail.target));
});
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  reading.get(detail.xhr)?.(document.getElementById(detail.target.id));
  reading.delete(detail.xhr); // the event is sent for each part that was swapped in
});
document.addEventListener("htmx:afterSettle", (event) => show(event.target.parentNode || document));

// htmx does not swap in error responses: show the error in the form until it is sent again.
function showError(event) {
  const { elt, xhr } = event.detail;
  if (!elt.matches("form")) return;
  const message = document.createElement("p");
  message.className = "error refused";
  message.setAttribute("role", "alert");
  message.textContent = xhr.status ? `The node returned an error: ${xhr.status} ${xhr.statusText}` : "The node does not answer.";
  elt.append(message);
}

document.addEventListener("htmx:responseError", showError);
document.addEventListener("htmx:sendError", showError);
document.addEventListener("htmx:beforeRequest", (event) => event.detail.elt.querySelector(":scope > .refused")?.remove());
document.addEventListener("keydown", (event) => {
  const typing = /^(input|textarea|select)$/i.test(event.target.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    document.querySelector(".search input").focus();
  } else if (event.key === "Escape") {
    document.getElementById("suggestions").replaceChildren();
  }
});
