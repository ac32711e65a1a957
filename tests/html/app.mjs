// Opens the app of the example `app` in a browser, in a host built on the official package.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";

const { CHROMIUM, APP } = process.env;
const shots = process.argv[2] === "--shots" ? process.argv[3] : undefined;
if (shots) mkdirSync(shots, { recursive: true });
const here = import.meta.dirname;

const { outputFiles } = await build({
  entryPoints: [join(here, "host.mjs")],
  bundle: true,
  format: "esm",
  platform: "browser",
  write: false,
});
const files = {
  "/": ["text/html", readFileSync(join(here, "host.html"))],
  "/host.js": ["text/javascript", outputFiles[0].contents],
};

const server = spawn(APP, ["127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
const [mcp] = await once(createInterface(server.stdout), "line");

// Forwards `/mcp` to the server, so that the page and the server have the same origin.
const web = createServer(async (request, response) => {
  if (request.url in files) {
    const [type, text] = files[request.url];
    return response.writeHead(200, { "content-type": type }).end(text);
  }
  const { host, origin, connection, ...headers } = request.headers;
  const body = request.method === "POST" ? Buffer.concat(await request.toArray()) : undefined;
  const answer = await fetch(mcp, { method: request.method, headers, body });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  try {
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  } catch {
    // The server has ended, at the end of the test.
    response.destroy();
  }
});
web.listen(0, "127.0.0.1");
await once(web, "listening");

const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const problems = [];
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 480, height: 400 });
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(`http://127.0.0.1:${web.address().port}/`);
  await page.waitForSelector("body[data-state=shown]", { timeout: 20_000 });
  const frame = await (await page.$("iframe")).contentFrame();
  const value = () => frame.$eval("#value", (output) => output.textContent);
  await frame.waitForFunction(() => document.getElementById("value").textContent !== "…", { timeout: 20_000 });
  if (shots) await page.screenshot({ path: join(shots, "app.png") });

  // The app calls the tool through the host until the die shows another number.
  const first = await value();
  let last = first;
  for (let roll = 0; roll < 50 && last === first; roll += 1) {
    await frame.click("#again");
    await new Promise((resolve) => setTimeout(resolve, 100));
    last = await value();
  }
  const isRolled = (text) => /^([1-9]|1[0-9]|20)$/.test(text);
  if (!isRolled(first) || !isRolled(last) || first === last) problems.push(`the die shows ${first}, then ${last}`);
} catch (error) {
  problems.push(String(error));
} finally {
  await browser.close();
  web.close();
  server.kill();
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log("the app shows results, and calls its tool");
