"use strict";
// The theme of all pages: light, dark, or the system's. It is loaded before the page is drawn.

// The key and its JSON text are those of the admin's own switch (django-unfold), so that both agree.
const THEME_KEY = "adminTheme";

/** Returns the chosen theme; "auto" is the system's, also where the browser stores nothing. */
function chosenTheme() {
  try {
    const theme = JSON.parse(localStorage.getItem(THEME_KEY));
    return theme === "light" || theme === "dark" ? theme : "auto";
  } catch {
    return "auto";
  }
}

/** Applies a theme to the page and its switch; charts draw themselves again. */
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("[data-choose-theme]"))
    button.setAttribute("aria-pressed", String(button.dataset.chooseTheme === theme));
  dispatchEvent(new Event("themechange"));
}

document.addEventListener("click", (event) => {
  const theme = event.target.closest("[data-choose-theme]")?.dataset.chooseTheme;
  if (!theme) return;
  try {
    localStorage.setItem(THEME_KEY, JSON.stringify(theme));
  } catch {
    // The browser stores nothing: the choice is for this page.
  }
  applyTheme(theme);
});
// Another page of the node, or the admin, has chosen.
addEventListener("storage", (event) => event.key === THEME_KEY && applyTheme(chosenTheme()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
document.addEventListener("DOMContentLoaded", () => {
  for (const choice of document.querySelectorAll(".themes")) choice.hidden = false;
  applyTheme(chosenTheme());
});
applyTheme(chosenTheme());
