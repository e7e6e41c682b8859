"use strict";
// Keyboard shortcuts, live updates and search as you type. Every screen works without them: they only save clicks.
(() => {
  const isTyping = (element) => element.matches("input, select, textarea, [contenteditable]");
  const items = () => [...document.querySelectorAll(
    "a.item, .hits h2 a, .pages .title a, .way .title a, .similar .title a, .lines li > a:first-of-type")];

  function move(step) {
    const all = items();
    const current = all.indexOf(document.activeElement);
    const first = step > 0 ? 0 : all.length - 1;
    const next = all[current < 0 ? first : Math.min(all.length - 1, Math.max(0, current + step))];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector("[data-focus]");
    if (event.key === "Escape") isSent = false;  // which ends loading
    if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); return; }
    if (event.target === field && event.key === "ArrowDown") { event.preventDefault(); move(1); return; }
    if (isTyping(event.target)) return;
    const button = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
    if (event.key === "/") {
      event.preventDefault();
      const searchLink = document.querySelector('.bar nav a[href$="/search"]');
      if (field) { field.focus(); field.select(); } else if (searchLink) { searchLink.click(); }
    } else if (event.key === "j" || event.key === "ArrowDown" && document.activeElement.matches("a.item")) {
      event.preventDefault(); move(1);
    } else if (event.key === "k" || event.key === "ArrowUp" && document.activeElement.matches("a.item")) {
      event.preventDefault(); move(-1);
    } else if (button) { event.preventDefault(); button.click(); }
  });

  // Where the tabs are wider than the window, the current one is shown.
  const tab = document.querySelector(".bar nav [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;

  // A form that changes something is sent once: what is pressed until the answer arrives would meet the old state.
  let isSent = false;
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (isSent) { event.preventDefault(); return; }
    isSent = true;
    document.body.setAttribute("aria-busy", "true");
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted && isSent) location.reload(); });  // by "back"

  const live = document.getElementById("live");
  if (live && window.EventSource) {
    let source = null, latest = "", timer = 0;
    const isTouched = (input) => input.value !== input.defaultValue;
    const show = () => {
      clearTimeout(timer);
      if (isSent) return;  // the next screen shows what came of it
      const focused = live.contains(document.activeElement) ? document.activeElement : null;
      // A pressed button that is replaced loses its click, and a field in use its cursor.
      if (live.querySelector(":active") || focused && focused.matches("input")) { timer = setTimeout(show, 100); return; }
      const selector = (element) => `${element.localName}[name="${CSS.escape(element.name)}"]`;
      const typed = [...live.querySelectorAll("input:not([type=hidden])")].filter(isTouched)
        .map((input) => [selector(input), input.value]);
      const isButton = focused && focused.matches("button");
      const button = isButton ? `${selector(focused)}[value="${CSS.escape(focused.value)}"]` : null;
      live.innerHTML = latest;  // rendered and escaped by the server
      for (const [each, value] of typed) { const again = live.querySelector(each); if (again) again.value = value; }
      const again = button && live.querySelector(button);
      if (again) again.focus();
    };
    const connect = () => {
      if (document.hidden) { if (source) source.close(); source = null; return; }
      if (!source) {
        source = new EventSource(live.dataset.events);
        source.onmessage = (event) => { latest = JSON.parse(event.data); show(); };
      }
    };
    document.addEventListener("visibilitychange", connect);
    connect();
  }

  // The lines of a text; of bookmarks and OPML, their links.
  function linesOf(text) {
    if (!/^\s*</.test(text)) return text;
    const parsed = new DOMParser().parseFromString(text, "text/html");  // which loads and runs nothing
    return [...parsed.querySelectorAll("a[href], outline")]
      .map((each) => ["href", "htmlurl", "url"].map((name) => each.getAttribute(name)).find((url) => url))
      .filter((url) => /^https?:/i.test(url)).join("\n");
  }

  for (const field of document.querySelectorAll("[data-into]")) {
    field.closest("[hidden]").hidden = false;
    field.addEventListener("change", async () => {
      const into = document.querySelector(`[name="${field.dataset.into}"]`);
      const texts = await Promise.all([...field.files].map((file) => file.text()));
      into.value = [into.value, ...texts.map(linesOf)].map((text) => text.trim()).filter((text) => text).join("\n");
      field.value = "";
    });
  }

  const form = document.getElementById("search");
  const results = document.getElementById("results");
  if (form && results) {
    let timer = 0, repetition = 0, pending = null;
    const isBusy = () => document.hidden || results.contains(document.activeElement);  // then results stay as they are
    const repeatIfIncomplete = () => {  // until the newest pages are in the index
      clearTimeout(repetition);
      if (!results.querySelector("[data-incomplete]")) return;
      repetition = setTimeout(() => { if (isBusy()) repeatIfIncomplete(); else search({ isRepetition: true }); }, 2000);
    };
    const search = async ({ isRepetition = false } = {}) => {
      const parameters = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...parameters]) if (!value) parameters.delete(name);
      if (pending) pending.abort();
      pending = new AbortController();
      const { signal } = pending;
      try {
        const response = await fetch(`${form.action}?${parameters}&part=1&typed=1`, { signal });
        const html = await response.text();  // rendered and escaped by the server
        while (results.querySelector(":active")) await new Promise((go) => setTimeout(go, 50));  // it would lose its click
        if (signal.aborted) return;
        if (isRepetition && isBusy()) { repeatIfIncomplete(); return; }
        results.innerHTML = html;
        history.replaceState(null, "", `${form.action}?${parameters}`);
        repeatIfIncomplete();
      } catch (error) { if (error.name !== "AbortError" && !isRepetition) form.submit(); }
    };
    const field = form.querySelector("[name=q]");
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => search(), 120); });
    form.addEventListener("change", (event) => { if (event.target !== field) search(); });
    field.setSelectionRange(field.value.length, field.value.length);
    repeatIfIncomplete();
  }
})();
