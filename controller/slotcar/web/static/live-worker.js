"use strict";
/* One stream for all pages of a browser: HTTP/1.1 gives six connections to a site, and each page would hold one. */
(() => {
  const AGAIN_MS = 2000;
  const SILENCE_MS = 40000;

  function follow(after, tell) {
    let last = after;
    let heardAt = Date.now();
    let state = "";
    let source = null;

    function say(type) {
      if (type !== state || type === "behind") tell({ type, since: heardAt });
      state = type;
    }

    async function again() {
      source.close();
      say("reconnecting");
      try {
        const answer = await fetch("/live/check", { cache: "no-store" });
        if (answer.status === 401) {
          clearInterval(watch);
          return tell({ type: "signed-out" });
        }
      } catch { /* it does not answer at all: the next try says whether it does again */ }
      setTimeout(open, AGAIN_MS);
    }

    function open() {
      source = new EventSource(`/live?after=${last}`);
      source.onopen = () => { heardAt = Date.now(); say("live"); };
      source.onmessage = (message) => {
        heardAt = Date.now();
        const event = JSON.parse(message.data);
        if (event.away) return say("behind");
        if (message.lastEventId) last = Number(message.lastEventId);
        say("live");
        if (event.kind) tell({ type: "event", sequence: last, kind: event.kind, handle: event.handle, device: event.device });
      };
      source.onerror = again;
    }

    const watch = setInterval(() => { if (Date.now() - heardAt > SILENCE_MS && state === "live") say("behind"); }, 5000);
    open();
    return { at: () => last, state: () => ({ type: state || "reconnecting", since: heardAt }) };
  }

  if (typeof SharedWorkerGlobalScope === "undefined") {
    window.slotcarFollow = follow;
    return;
  }
  const ports = new Set();
  let stream = null;
  addEventListener("connect", (connection) => {
    const port = connection.ports[0];
    port.onmessage = (message) => {
      if (message.data.leaving) return ports.delete(port);
      ports.add(port);
      if (!stream) stream = follow(message.data.after, (told) => {
        if (told.type === "signed-out") stream = null;
        ports.forEach((one) => one.postMessage(told));
      });
      port.postMessage({ type: "at", sequence: stream.at() });
      port.postMessage(stream.state());
    };
    port.start();
  });
})();
