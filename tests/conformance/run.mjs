// Runs the scenarios that the official conformance suite requires of each revision, each in a process of its own and at
// the revision's own wire, against everything-server and with everything-client. See --help.
//
// What is run is what `--requirements REVISION` runs: the required scenarios, and those that are run without being scored
// unless they are an extension's. What counts is stricter: here a warning is a failure, and so is one of those others.

import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HELP = `usage: tests/conformance/run [options]

  --leg server|client   only this leg
  --revision REVISION   only this revision
  --only NAME           only this scenario
  --server-url URL      test a server that runs already; only the leg of the server
  --replicas N          test N replicas behind nginx, in the revision without sessions; only the leg of the server
  --no-build            do not build the two programs first
  --jobs N              how many scenarios are run at a time (4)
  --verbose             print all checks of each scenario, not only those that fail

Results are kept in the target folder, under tmp/conformance/results.`;

const HERE = dirname(fileURLToPath(import.meta.url));
const TARGET = process.env.CARGO_TARGET_DIR ?? join(HERE, '../../target');
const PLACE = join(TARGET, 'tmp/conformance');
const RESULTS = join(PLACE, 'results');
const SUITE = join(PLACE, 'node_modules/@modelcontextprotocol/conformance');
const REVISIONS = ['2025-11-25', '2026-07-28'];
const LEGS = ['server', 'client'];
/** Scenarios that change what others look at. */
const ALONE = ['server-stateless'];
/** How long a scenario may take, and how long its process may after that, in milliseconds. */
const LONGEST = 30_000;
const GRACE = 15_000;

const { parse: yaml } = createRequire(join(PLACE, 'package.json'))('yaml');

/** What was asked for cannot be done. */
class Complaint extends Error {}

async function main() {
  const options = read();
  if (options.replicas && spawnSync('nginx', ['-v']).error) {
    console.log('NOTE: THERE IS NO nginx: THE SERVER IS NOT TESTED BEHIND A LOAD BALANCER');
    return true;
  }
  const baseline = readBaseline();
  const jobs = plan(options, baseline);
  const programs = {};
  if (jobs.some((job) => job.leg === 'client') || !options['server-url']) {
    if (!options['no-build']) build();
    for (const leg of LEGS) programs[leg] = join(TARGET, 'debug', `everything-${leg}${process.platform === 'win32' ? '.exe' : ''}`);
  }
  const server = await serverFor(jobs, options, programs);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  try {
    await runAll(jobs, Number(options.jobs), { url: server?.url, client: programs.client });
  } finally {
    server?.stop();
  }
  return report(jobs, baseline, options);
}

function read() {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    options: {
      leg: text,
      revision: text,
      only: text,
      'server-url': text,
      replicas: text,
      'no-build': flag,
      jobs: { type: 'string', default: '4' },
      verbose: flag,
      help: { ...flag, short: 'h' },
    },
  });
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const known = (name, all) => {
    if (values[name] !== undefined && !all.includes(values[name])) throw new Complaint(`--${name} is one of ${all.join(', ')}`);
  };
  known('leg', LEGS);
  known('revision', REVISIONS);
  if (values['server-url'] && values.leg === 'client') throw new Complaint('--server-url is for the leg of the server');
  if (values.replicas !== undefined) {
    if (!(Number(values.replicas) >= 1) || values['server-url']) throw new Complaint('--replicas is a number, and starts its own servers');
    values.leg = 'server';
    values.revision = '2026-07-28';
  }
  if (!(Number(values.jobs) >= 1)) throw new Complaint('--jobs is a number');
  return values;
}

/** The requirements of a revision, as the suite has them. */
function requirements(revision) {
  const { server, client, not_scored: others } = yaml(readFileSync(join(SUITE, 'requirements', `${revision}.yaml`), 'utf8'));
  return { server, client, others: others ?? [] };
}

/** The scenarios of the client that are left out. */
function readBaseline() {
  const baseline = yaml(readFileSync(join(HERE, 'baseline.yaml'), 'utf8')) ?? {};
  const all = REVISIONS.map(requirements);
  const legs = Object.keys(baseline).filter((leg) => !LEGS.includes(leg));
  if (legs.length > 0) throw new Complaint(`baseline.yaml: ${legs.join(', ')} is no leg`);
  for (const leg of LEGS) {
    for (const entry of baseline[leg] ?? []) {
      const other = all.flatMap(({ others }) => others).find(({ scenario, leg: of }) => scenario === entry && of === leg);
      const isExtension = other?.reason === 'extension';
      const isOAuth = leg === 'client' && typeof entry === 'string' && entry.startsWith('auth/');
      if (!isExtension && !isOAuth) throw new Complaint(`baseline.yaml: ${leg}: ${JSON.stringify(entry)} is neither auth/ nor an extension's`);
      const isKnown = other !== undefined || all.some((required) => required[leg].includes(entry));
      if (!isKnown) throw new Complaint(`baseline.yaml: ${leg}: no revision requires ${entry}`);
    }
  }
  return Object.fromEntries(LEGS.map((leg) => [leg, baseline[leg] ?? []]));
}

/** All that is to be run. */
function plan(options, baseline) {
  const jobs = [];
  for (const leg of options['server-url'] ? ['server'] : LEGS) {
    for (const revision of REVISIONS) {
      const required = requirements(revision);
      const others = required.others.filter((other) => other.leg === leg && other.reason !== 'extension');
      const add = (scenario, reason) => {
        if (!baseline[leg].includes(scenario)) jobs.push({ leg, revision, scenario, reason });
      };
      for (const scenario of required[leg]) add(scenario);
      for (const { scenario, reason } of others) add(scenario, reason);
    }
  }
  const wanted = (job) => ['leg', 'revision'].every((name) => options[name] === undefined || options[name] === job[name]);
  const chosen = jobs.filter((job) => wanted(job) && (options.only === undefined || options.only === job.scenario));
  if (chosen.length === 0) throw new Complaint('there is no such scenario among those that are required');
  return chosen;
}

function build() {
  const cargo = spawnSync('cargo', ['build', '--package', 'mcpgen-conformance', '--bins'], { cwd: HERE, stdio: ['ignore', 2, 2] });
  if (cargo.error) throw new Complaint(`cargo: ${cargo.error.message}`);
  if (cargo.status !== 0) throw new Complaint('the programs cannot be built');
}

/** The server that is tested; it is started unless it runs already. */
async function serverFor(jobs, options, programs) {
  if (options['server-url']) return { url: options['server-url'], stop() {} };
  if (!jobs.some((job) => job.leg === 'server')) return undefined;
  if (!existsSync(programs.server)) throw new Complaint(`there is no ${programs.server}`);
  mkdirSync(RESULTS, { recursive: true });
  return options.replicas ? replicas(Number(options.replicas), programs.server) : start(programs.server, 'everything-server');
}

/** Starts a program that says its URL in its first line. */
async function start(program, name, words = []) {
  const log = join(RESULTS, `${name}.log`);
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stderr.pipe(createWriteStream(log));
  const stop = stopping(child);
  const url = await new Promise((found, lost) => {
    const complain = (why) => lost(new Complaint(`${name} ${why}; see ${log}`));
    const timer = setTimeout(() => complain('says no URL'), 10_000);
    child.once('error', (error) => complain(error.message));
    child.once('exit', (code, signal) => complain(`has ended: ${signal ?? code}`));
    createInterface(child.stdout).once('line', (line) => {
      clearTimeout(timer);
      line.startsWith('http://') ? found(line.trim()) : complain(`says ${JSON.stringify(line)} instead of its URL`);
    });
  }).catch((error) => {
    stop();
    throw error;
  });
  return { url, stop };
}

/** What ends a child, at the latest when this process ends. */
function stopping(child) {
  const stop = () => child.kill();
  process.once('exit', stop);
  return stop;
}

/** Several servers that share nothing but a key and the news of changes, behind nginx, which gives each request to the next one. */
async function replicas(count, program) {
  const key = randomBytes(32).toString('hex');
  const ports = await Promise.all(Array.from({ length: count + 1 }, freePort));
  const front = ports.pop();
  const servers = [];
  const stop = () => servers.forEach((server) => server.stop());
  try {
    for (const port of ports) {
      const others = ports.filter((other) => other !== port).flatMap((other) => ['--sibling', String(other)]);
      servers.push(await start(program, `replica-${port}`, ['--port', String(port), '--seal-key', key, ...others]));
    }
    servers.push(await proxy(front, ports));
  } catch (error) {
    stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${front}/mcp`, stop };
}

async function proxy(front, ports) {
  const folder = join(RESULTS, 'nginx');
  mkdirSync(folder, { recursive: true });
  const configuration = join(folder, 'nginx.conf');
  const upstream = ports.map((port) => `    server 127.0.0.1:${port};`).join('\n');
  const text = readFileSync(join(HERE, 'nginx.conf'), 'utf8');
  writeFileSync(configuration, text.replaceAll('FOLDER', folder).replace('REPLICAS', upstream).replace('PORT', String(front)));
  const child = spawn('nginx', ['-c', configuration, '-e', join(folder, 'error.log')], { stdio: 'ignore' });
  const stop = stopping(child);
  const lost = new Promise((_, lost) => child.once('error', lost).once('exit', (code) => lost(new Complaint(`nginx has ended: ${code}`))));
  lost.catch(() => {});
  for (let tries = 0; tries < 100; tries += 1) {
    const there = await Promise.race([lost, canConnect(front)]);
    if (there) return { stop };
    await new Promise((later) => setTimeout(later, 50));
  }
  throw new Complaint(`nginx does not listen; see ${folder}`);
}

const canConnect = (port) =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => done(socket.destroy() !== undefined));
    socket.once('error', () => done(false));
  });

const freePort = () =>
  new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });

/** Runs several at a time, and then, one by one, those that disturb others. */
async function runAll(jobs, most, under) {
  const isAlone = (job) => ALONE.includes(job.scenario);
  const together = jobs.filter((job) => !isAlone(job));
  await Promise.all(
    Array.from({ length: most }, async () => {
      for (let job = together.shift(); job; job = together.shift()) await run(job, under);
    }),
  );
  for (const job of jobs.filter(isAlone)) await run(job, under);
}

/** Runs one, and notes what came of it. */
async function run(job, { url, client }) {
  const { leg, revision, scenario } = job;
  if (leg === 'client' && !existsSync(client)) {
    Object.assign(job, { checks: [], seconds: 0, problem: `THERE IS NO ${client}` });
    return;
  }
  const folder = join(RESULTS, `${leg}-${revision}`, scenario);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // The suite takes a command apart at its spaces, and gives it to a shell, put together again.
  const target = leg === 'server' ? ['--url', url] : ['--command', `'${client}'`];
  const words = [join(SUITE, 'dist/index.js'), leg, ...target, '--scenario', scenario, '--spec-version', revision];
  words.push('--force', '--timeout', String(LONGEST), '--output-dir', folder);
  const begun = Date.now();
  const { status, output } = await execute(words, folder);
  job.seconds = (Date.now() - begun) / 1000;
  const written = readdirSync(folder, { recursive: true });
  const found = written.filter((path) => path.endsWith('checks.json'));
  const said = written.find((path) => path.endsWith('stderr.txt'));
  job.stderr = said && lastLines(readFileSync(join(folder, said), 'utf8'));
  job.checks = found.flatMap((path) => JSON.parse(readFileSync(join(folder, path), 'utf8')));
  job.problem = problemOf(job, found.length, status, output);
}

/** Why a scenario did not pass, besides its checks. */
function problemOf({ checks }, files, status, output) {
  if (files !== 1) return `the suite has written no checks:\n${lastLines(output)}`;
  if (!checks.some((check) => check.status === 'SUCCESS')) return 'there is no check that it has passed';
  const failed = checks.some((check) => check.status === 'FAILURE' || check.status === 'WARNING');
  // A client that ends with an error, or does not end.
  return status === 0 || failed ? undefined : `the suite has ended with ${status}:\n${lastLines(output)}`;
}

function execute(words, folder) {
  return new Promise((done) => {
    const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST + GRACE);
    child.once('error', (error) => (output += error.message));
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      done({ status: code ?? signal ?? 'an error', output });
    });
  });
}

const count = (job, status) => job.checks.filter((check) => check.status === status).length;
const passed = (job) => !job.problem && count(job, 'FAILURE') === 0 && count(job, 'WARNING') === 0;

/** Prints what came of it all; whether it is as it should be. */
function report(jobs, baseline, options) {
  table(jobs);
  for (const job of jobs) details(job, options.verbose);
  const parts = [];
  for (const leg of LEGS) {
    for (const revision of REVISIONS) {
      const of = jobs.filter((job) => job.leg === leg && job.revision === revision);
      if (of.length > 0) parts.push(`${leg} ${revision}: ${tally(of, requirements(revision)[leg], baseline[leg])}`);
    }
  }
  const missing = jobs.find((job) => job.problem?.startsWith('THERE IS NO'));
  if (missing) console.log(`\n${missing.problem}\n`);
  const good = jobs.every(passed);
  console.log(`${parts.join('; ')}: ${good ? 'all as it should be' : 'NOT AS IT SHOULD BE'}`);
  return good;
}

function tally(jobs, required, baseline) {
  const of = (some) => `${some.filter(passed).length}/${some.length}`;
  const others = jobs.filter((job) => job.reason);
  const left = required.filter((scenario) => baseline.includes(scenario)).length;
  const words = [`${of(jobs.filter((job) => !job.reason))} required`];
  if (others.length > 0) words.push(`${of(others)} more`);
  if (left > 0) words.push(`${left} left out by baseline.yaml`);
  return words.join(', ');
}

function table(jobs) {
  const head = ['leg', 'revision', 'scenario', '', 'passed', 'failed', 'warnings', 'skipped', 'info', 'seconds', ''];
  const statuses = ['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO'];
  const rows = jobs.map((job) => [
    job.leg,
    job.revision,
    job.scenario,
    passed(job) ? 'ok' : 'FAILED',
    ...statuses.map((status) => String(count(job, status))),
    job.seconds.toFixed(1),
    job.reason ?? '',
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  // Numbers stand to the right.
  const cell = (text, column) => (column > 3 && column < 10 ? text.padStart(widths[column]) : text.padEnd(widths[column]));
  for (const row of [head, ...rows]) console.log(row.map(cell).join('  ').trimEnd());
  console.log();
}

/** The checks that a scenario has not passed. */
function details(job, verbose) {
  const shown = job.checks.filter((check) => verbose || check.status === 'FAILURE' || check.status === 'WARNING');
  if (passed(job) && !verbose) return;
  console.log(`${job.leg} ${job.revision} ${job.scenario}`);
  if (job.problem) console.log(indent(job.problem, 2));
  if (job.stderr) console.log(indent(`the client says:\n${job.stderr}`, 2));
  for (const { id, status, description, errorMessage, details: more } of shown) {
    console.log(`  ${status} ${id}: ${errorMessage ?? description}`);
    if (status !== 'SUCCESS' && more !== undefined) console.log(indent(shortened(JSON.stringify(more, null, 2)), 4));
  }
  console.log();
}

const lastLines = (text) => text.trim().split('\n').slice(-15).join('\n');
const indent = (text, by) => text.replace(/^/gm, ' '.repeat(by));
const shortened = (text) => (text.length > 4000 ? `${text.slice(0, 4000)} …` : text);

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  if (!(error instanceof Complaint) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(`run: ${error.message}`);
  process.exitCode = 2;
}
