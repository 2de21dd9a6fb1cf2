"use strict";
/* The curve of a resource, and curves of what was counted. ECharts is fetched after the page has been drawn; the table
   below each says the same. */
(() => {
  const library = document.currentScript.dataset.echarts;
  const places = document.querySelectorAll("[data-steps], [data-curves]");
  if (!places.length) return;

  const ink = () => getComputedStyle(places[0]);
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.className = name;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };

  const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const short = (number) => Number(number.toFixed(3));
  const prefixed = (amount, base) => {
    const [size, prefix] = PREFIXES.find(([least]) => amount >= least) || [1, ""];
    return `${short(amount / size)} ${prefix}${base}`;
  };
  /* How the page says an amount, by the unit in the resource's document. */
  const FORMATS = {
    bps: (amount) => prefixed(amount, "bit/s"),
    bytes_per_s: (amount) => prefixed(amount, "B/s"),
    millicores: (amount) => `${short(amount / 1000)} core${amount === 1000 ? "" : "s"}`,
  };

  /* Another resource manager's unit is said as it is. */
  function format(unit) {
    return FORMATS[unit] || ((amount) => `${short(amount)} ${unit || ""}`.trim());
  }

  function when(ms) {
    const options = { timeZone: places[0].dataset.zone, dateStyle: "medium", timeStyle: "short" };
    try {
      return new Intl.DateTimeFormat("en-GB", options).format(ms);
    } catch {
      return new Date(ms).toISOString();
    }
  }

  /* Below an axis: the day above the time, so that a telephone has room for two. */
  const stacked = (ms) => when(ms).replace(", ", "\n");

  async function steps(address) {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    return answer.json();
  }

  function series(found) {
    const points = found.steps.map((one) => [Date.parse(one.at), one.reserved_bps]);
    const least = found.steps.map((one) => [Date.parse(one.at), one.least_reserved_bps]);
    const end = found.window ? Date.parse(found.window.end) : 0;
    for (const line of [points, least]) if (line.length) line.push([end, line[line.length - 1][1]]);
    return { points, least, capacity: found.capacity_bps || 0 };
  }

  function options(found) {
    const { points, least, capacity } = series(found);
    const amount = format(found.unit);
    const line = { type: "line", step: "end", symbol: "none", animation: false };
    const text = { color: ink().color };
    /* No sampling: it takes points by their place and loses levels of a step function. */
    return {
      animation: false,
      textStyle: text,
      grid: { left: 16, right: 24, top: 24, bottom: 72, containLabel: true },
      tooltip: { trigger: "axis", renderMode: "richText", formatter: (all) => `${when(all[0].value[0])}\n${all.filter((one) => one.seriesName !== "least").map((one) => `${one.seriesName}: ${amount(one.value[1])}`).join("\n")}` },
      xAxis: { type: "time", axisLabel: { color: ink().color, hideOverlap: true, formatter: stacked } },
      yAxis: { type: "value", min: 0, max: capacity || null, axisLabel: { color: ink().color, formatter: amount }, splitLine: { lineStyle: { color: colour("soft"), opacity: 0.35 } } },
      dataZoom: [{ type: "slider", filterMode: "weakFilter", labelFormatter: (ms) => when(ms), textStyle: text }],
      series: [
        { ...line, name: "reserved", data: points, lineStyle: { color: colour("wait") }, itemStyle: { color: colour("wait") }, areaStyle: { color: colour("wait"), opacity: 0.25 } },
        ...(found.rounded ? [{ ...line, name: "least", data: least, lineStyle: { type: "dotted", color: colour("soft") }, itemStyle: { color: colour("soft") } }] : []),
        { ...line, name: "capacity", data: points.length ? [[points[0][0], capacity], [points[points.length - 1][0], capacity]] : [], lineStyle: { type: "dashed", color: colour("good") }, itemStyle: { color: colour("good") } },
      ],
    };
  }

  /* Steps of several lines; a null is a gap, of which nothing is known. */
  function curveOptions(found) {
    const amount = format(found.unit);
    const known = (value) => (value === null || value === undefined ? "unknown" : amount(value));
    const text = { color: ink().color };
    const drawn = (line) => ({
      name: line.name, type: "line", step: "end", symbol: "none", animation: false, connectNulls: false,
      data: line.points.map(([at, value]) => [Date.parse(at), value]),
      lineStyle: { color: colour(line.look), type: line.dashed ? "dashed" : "solid" },
      itemStyle: { color: colour(line.look) },
      ...(line.filled ? { areaStyle: { color: colour(line.look), opacity: 0.25 } } : {}),
    });
    return {
      animation: false,
      textStyle: text,
      grid: { left: 16, right: 24, top: 40, bottom: 72, containLabel: true },
      legend: { top: 4, textStyle: text, itemWidth: 28, itemHeight: 12 },
      tooltip: { trigger: "axis", renderMode: "richText", formatter: (all) => `${when(all[0].value[0])}\n${all.map((one) => `${one.seriesName}: ${known(one.value[1])}`).join("\n")}` },
      xAxis: { type: "time", axisLabel: { color: ink().color, hideOverlap: true, formatter: stacked } },
      yAxis: { type: "value", min: 0, axisLabel: { color: ink().color, formatter: amount }, splitLine: { lineStyle: { color: colour("soft"), opacity: 0.35 } } },
      dataZoom: [{ type: "slider", filterMode: "weakFilter", labelFormatter: (ms) => when(ms), textStyle: text }],
      series: found.lines.map(drawn),
    };
  }

  async function drawCurves(place) {
    const found = await steps(place.dataset.curves);
    const chart = window.echarts.init(place, null, { renderer: "canvas" });
    const show = () => chart.setOption(curveOptions(found));
    show();
    place.dataset.drawn = "yes";
    addEventListener("resize", () => chart.resize());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  }

  async function draw(place) {
    const whole = await steps(place.dataset.steps);
    const chart = window.echarts.init(place, null, { renderer: "canvas" });
    const note = place.parentElement.querySelector(".rounded");
    const show = (found) => { chart.setOption(options(found), { replaceMerge: ["series"] }); note.hidden = !found.rounded; };
    show(whole);
    place.dataset.drawn = "yes";
    let timer = 0;
    chart.on("datazoom", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        if (!whole.rounded) return;
        const { startValue, endValue } = chart.getOption().dataZoom[0];
        const address = new URL(place.dataset.steps, location.href);
        address.searchParams.set("from", new Date(startValue).toISOString());
        address.searchParams.set("until", new Date(endValue).toISOString());
        const part = await steps(address);
        const shown = series(part);
        chart.setOption({ series: [{ name: "reserved", data: shown.points }, ...(whole.rounded ? [{ name: "least", data: shown.least }] : [])] });
        note.hidden = !part.rounded;
      }, 300);
    });
    document.body.addEventListener("slotcar", async () => show(await steps(place.dataset.steps)));
    addEventListener("resize", () => chart.resize());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(whole));
  }

  function load() {
    const script = document.createElement("script");
    script.src = library;
    script.onload = () => places.forEach((place) => {
      const drawn = place.dataset.steps ? draw(place) : drawCurves(place);
      drawn.catch((error) => { place.textContent = `The curve cannot be drawn: ${error.message}. The table below has the same.`; });
    });
    document.head.append(script);
  }
  requestAnimationFrame(() => setTimeout(load, 0));
})();
