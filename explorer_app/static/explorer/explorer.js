"use strict";
// What the pages do beyond links and forms: copy buttons, times that stay true, and live heads.

// The path of a proxy with which all of the node's paths begin; mostly empty.
const BASE = document.documentElement.dataset.base;

const copied = new WeakMap();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.classList.add("done");
  clearTimeout(copied.get(button));
  copied.set(button, setTimeout(() => button.classList.remove("done"), 1200));
});

function show(root) {
  // Without a clipboard (pages over plain HTTP of another machine) there is nothing to press.
  if (navigator.clipboard)
    for (const button of root.querySelectorAll("button.copy")) button.hidden = false;
  const secure = location.protocol === "https:" ? "s" : "";
  for (const one of root.querySelectorAll("[data-scheme]"))
    one.textContent = `${one.dataset.scheme}${secure}://${location.host}${one.dataset.path}`;
}

// New heads come over the node's own WebSocket; whoever shows something live asks for it again then.
function follow() {
  const url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${BASE}/ext/bc/C/ws`;
  const socket = new WebSocket(url);
  socket.onopen = () =>
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
  socket.onmessage = (message) => {
    if (JSON.parse(message.data).method === "eth_subscription") tell();
  };
  socket.onclose = () => setTimeout(follow, 3000);
}

function tell() {
  // What is drawn anew is no longer selected.
  if (!document.hidden && document.getSelection().isCollapsed) document.body.dispatchEvent(new CustomEvent("head"));
}

document.addEventListener("DOMContentLoaded", () => {
  show(document);
  if (!document.querySelector("[data-live]")) return;
  follow();
  setInterval(tell, 10_000); // the P-Chain, ages, and health
});

const reading = new WeakMap();

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.elt.matches("[data-live]")) reading.set(detail.xhr, keepReading(detail.target));
});
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  reading.get(detail.xhr)?.(document.getElementById(detail.target.id));
  reading.delete(detail.xhr); // it comes for each part that was swapped in
});
document.addEventListener("htmx:afterSettle", (event) => show(event.target.parentNode || document));

// What the server refuses is not swapped in: a form says so itself, until it is sent again.
function refused(event) {
  const { elt, xhr } = event.detail;
  if (!elt.matches("form")) return;
  const says = document.createElement("p");
  says.className = "error refused";
  says.setAttribute("role", "alert");
  says.textContent = xhr.status ? `The node refused: ${xhr.status} ${xhr.statusText}` : "The node does not answer.";
  elt.append(says);
}

document.addEventListener("htmx:responseError", refused);
document.addEventListener("htmx:sendError", refused);
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
