"use strict";
// Closes the switch of chains when the reader clicks elsewhere, presses Escape or moves the focus away.

function closeSwitch(except) {
  for (const open of document.querySelectorAll("details.switch[open]")) if (!open.contains(except)) open.open = false;
}

document.addEventListener("click", ({ target }) => closeSwitch(target));
document.addEventListener("focusin", ({ target }) => closeSwitch(target));
document.addEventListener("keydown", ({ key }) => key === "Escape" && closeSwitch(null));
