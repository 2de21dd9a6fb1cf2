"use strict";
/* What a page does by itself: counts down, follows the controller, takes keys. Without it every page still works. */
(() => {
  const body = document.body;
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

  function words(seconds) {
    let rest = Math.abs(Math.round(seconds));
    if (rest === 0) return "now";
    const first = units.findIndex(([size]) => rest >= size);
    let text = "";
    for (const [size, unit] of units.slice(first, first + (rest < 60 ? 1 : 2))) {
      const count = Math.floor(rest / size);
      rest -= count * size;
      if (count) text += `${text ? " " : ""}${count} ${unit}`;
    }
    return seconds > 0 ? `in ${text}` : `${text} ago`;
  }

  /* This machine's clock may be wrong: what counts is how much time has passed since the page was made. */
  const made = document.querySelector("footer time");
  const serverAtStart = made ? Date.parse(made.dateTime) : Date.now();
  const startedAt = performance.now();
  const now = () => serverAtStart + (performance.now() - startedAt);

  function count() {
    for (const one of document.querySelectorAll("[data-until]")) {
      const text = words((Date.parse(one.dataset.until) - now()) / 1000);
      if (one.textContent !== text) one.textContent = text;
    }
    /* What a page says becomes another at an instant that no event tells of: a slot begins, a hold runs out. */
    for (const one of document.querySelectorAll("[data-turns]")) {
      if (Date.parse(one.dataset.turns) <= now()) {
        delete one.dataset.turns;
        refresh();
      }
    }
  }
  setInterval(count, 1000);

  /* Who signs in is offered the zone of last time, else the one of this machine; without a script it is UTC. */
  const signIn = document.querySelector('form[action="/sign-in"]');
  if (signIn) {
    const zone = signIn.elements.zone;
    if ("ownZone" in zone.dataset) {
      zone.value = localStorage.getItem("zone") || Intl.DateTimeFormat().resolvedOptions().timeZone || zone.value;
    }
    /* Also where the form came back: the zone that it refused is not offered again. */
    signIn.addEventListener("submit", () => localStorage.setItem("zone", zone.value));
  }

  /* -- live ---------------------------------------------------------------------------------------------------- */

  const told = document.getElementById("live");
  let last = Number(body.dataset.sequence || "0");
  let timer = 0;

  function show(state, text) {
    if (!told || told.textContent === text) return;
    told.hidden = false;
    told.dataset.state = state;
    told.textContent = text;
  }

  function refresh() {
    clearTimeout(timer);
    timer = setTimeout(() => body.dispatchEvent(new CustomEvent("slotcar")), 250);
  }

  function receive(message) {
    if (message.type === "event" || message.type === "at") {
      if (message.sequence > last) {
        last = message.sequence;
        refresh();
      }
    }
    if (message.type === "live") show("live", "live");
    if (message.type === "behind") {
      const since = new Date(message.since).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      show("behind", `behind since ${since}`);
    }
    if (message.type === "reconnecting") show("reconnecting", "reconnecting");
    if (message.type === "signed-out") location.href = `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
  }

  /* Only a page with a part that follows is live, and says so. */
  if (body.dataset.worker && document.querySelector('[hx-trigger*="slotcar"]')) {
    if (window.SharedWorker) {
      const worker = new SharedWorker(body.dataset.worker, "slotcar");
      worker.port.onmessage = (event) => receive(event.data);
      worker.port.start();
      worker.port.postMessage({ after: last });
      addEventListener("pagehide", () => worker.port.postMessage({ leaving: true }));
      addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
    } else {
      const script = document.createElement("script");
      script.src = body.dataset.worker;
      script.onload = () => window.slotcarFollow(last, receive);
      document.head.append(script);
    }
  }

  /* -- keys and focus ------------------------------------------------------------------------------------------ */

  let going = 0;
  addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search) {
        event.preventDefault();
        search.focus();
      }
    } else if (event.key === "?") {
      document.getElementById("keys").showModal();
    } else if (event.key === "g") {
      going = performance.now();
    } else if (going && performance.now() - going < 1500) {
      const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
      going = 0;
      if (link) location.href = link.href;
    }
  });

  body.addEventListener("htmx:afterSwap", (event) => {
    count();
    const heading = event.detail.target && event.detail.target.querySelector("[data-focus], .problem h2");
    if (heading) heading.focus();
  });
  for (const input of document.querySelectorAll("input[type=file][data-into]")) {
    input.addEventListener("change", async () => {
      const into = input.form.elements[input.dataset.into];
      if (input.files.length) into.value = await input.files[0].text();
    });
  }
  for (const select of document.querySelectorAll("select[data-submits]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
})();
