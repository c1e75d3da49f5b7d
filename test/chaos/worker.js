/**
 * The built worker with traps (traps.ts): `CHAOS_TRAPS` is their directory. Kills, stops and holds itself at named moments of its
 * activities, or makes their system calls fail. Plain JavaScript on dist/, as workers run from there.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import childProcess from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createWorker } from '../../dist/src/worker/index.js';
import { resolveHome } from '../../dist/src/stores/home.js';
import { realSys } from '../../dist/src/system/sys.js';

const dir = process.env.CHAOS_TRAPS;
const LOOK_MS = 20;
const HOLD_MS = 20_000;
/** Calls that put bytes or names on a disk. */
const WRITES = ['writeExclusive', 'append', 'copyExclusive', 'link', 'mkdir'];

/** The wall clock may be set (traps.ts), as a person or the network's time does it; the one that only runs goes on. */
const wallClock = Date.now;
let ahead_ms = 0;
globalThis
  .setInterval(() => {
    try {
      const set_ms = Number(readFileSync(join(dir, 'clock'), 'utf8'));
      if (ahead_ms === 0) writeFileSync(join(dir, `clock-seen-${process.pid}`), '');
      ahead_ms = set_ms;
    } catch {
      ahead_ms = 0;
    }
  }, 100)
  .unref();
globalThis.Date = class extends Date {
  constructor(...args) {
    if (args.length === 0) super(wallClock() + ahead_ms);
    else super(...args);
  }
  static now() {
    return wallClock() + ahead_ms;
  }
};

/** The traps that this execution of an activity may spring. */
const scopes = new AsyncLocalStorage();

const trapsFor = (activity, { stepKey, on }) =>
  readdirSync(dir)
    .filter(
      (name) => name.endsWith('.json') && !existsSync(join(dir, name.replace(/json$/, 'fired'))),
    )
    .map((name) => {
      try {
        return JSON.parse(readFileSync(join(dir, name), 'utf8'));
      } catch {
        return null; // Disarmed since.
      }
    })
    .filter(
      (trap) =>
        trap &&
        [null, activity].includes(trap.activity) &&
        [null, stepKey].includes(trap.stepKey) &&
        [undefined, on?.kind].includes(trap.on),
    )
    .map((trap) => ({ trap, calls: 0, left: trap.does.times ?? 0, mine: false }));

/** True for the one execution in all workers that springs it. */
const claim = (armed, { activity, stepKey }, where) => {
  const { id, does } = armed.trap;
  const sprung = { id, pid: process.pid, activity, stepKey, where, does: does.kind };
  try {
    writeFileSync(join(dir, `${id}.fired`), JSON.stringify(sprung), { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
  armed.mine = true;
  return true;
};

const die = () => process.kill(process.pid, 'SIGKILL');
/** Kills or stops this process. A stopped one goes on from here when it is woken. */
const strike = (armed, scope, where) => {
  if (!claim(armed, scope, where)) return;
  if (armed.trap.does.kind === 'stop') process.kill(process.pid, 'SIGSTOP');
  else die();
};

const execute = async (context, input, next) => {
  const activity = context.info.activityType;
  const [request] = input.args;
  const { stepKey } = request;
  const scope = { activity, stepKey, traps: trapsFor(activity, request) };
  const strikes = scope.traps.filter(({ trap }) =>
    ['kill', 'stop', 'tear'].includes(trap.does.kind),
  );
  const timers = [];
  return scopes.run(scope, async () => {
    for (const armed of strikes) {
      const { at } = armed.trap;
      if (at.moment === 'before') strike(armed, scope, 'before');
      if (at.moment === 'delay')
        timers.push(setTimeout(() => strike(armed, scope, `after ${at.ms} ms`), at.ms));
    }
    let result = null;
    try {
      result = await next(input);
      return result;
    } finally {
      timers.forEach(clearTimeout);
      // A busy workspace is no application; the next attempt will be one.
      if (result?.outcome !== 'busy')
        for (const armed of strikes)
          if (!armed.mine && !armed.trap.at.strict) strike(armed, scope, 'at its end');
    }
  });
};

const half = (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2));
const tear = async (real, name, args) => {
  const [path, second] = args;
  if (name === 'append') await real.append(path, half(second)).catch(() => undefined);
  if (name === 'writeExclusive')
    await real.writeExclusive(path, half(second), { mode: 0o600 }).catch(() => undefined);
};

const meets = ({ trap }, name, paths) => {
  const { at, does } = trap;
  if (at.moment !== 'call' || (at.only && !at.only.includes(name))) return false;
  if (does.kind === 'fail' && !WRITES.includes(name)) return false;
  return at.path === undefined || paths.some((path) => path.includes(at.path));
};

/** Before a system call inside an activity. */
const onCall = async (real, name, args) => {
  const scope = scopes.getStore();
  if (scope === undefined) return;
  const paths = args.filter((arg) => typeof arg === 'string');
  for (const armed of scope.traps) {
    if (!meets(armed, name, paths)) continue;
    armed.calls += 1;
    const { at, does, id } = armed.trap;
    const where = `${name} ${paths[0]}`;
    if (does.kind === 'fail') {
      if (armed.calls < at.n || armed.left === 0 || (!armed.mine && !claim(armed, scope, where)))
        continue;
      armed.left -= 1;
      throw Object.assign(new Error(`${does.errno}: injected, ${where}`), {
        code: does.errno,
        syscall: name,
        path: paths[0],
      });
    }
    if (armed.calls !== at.n) continue;
    if (does.kind === 'wait') {
      if (!claim(armed, scope, where)) continue;
      for (let end = Date.now() + HOLD_MS; Date.now() < end && !existsSync(join(dir, `${id}.go`));)
        await sleep(LOOK_MS);
    } else if (does.kind === 'tear') {
      if (!claim(armed, scope, where)) continue;
      await tear(real, name, args);
      die();
    } else strike(armed, scope, where);
  }
};

// Everything durable goes through this one object: its calls are what the traps count.
const real = { ...realSys };
for (const [name, call] of Object.entries(real))
  realSys[name] = async (...args) => {
    await onCall(real, name, args);
    return call(...args);
  };

/** Holds its outputs open in a child, too, as a hook or a file-system monitor does. */
const HANGS = ['-c', "trap '' TERM; sleep 1000 & while :; do sleep 1000; done"];
/** What the launcher (src/system/launcher.ts) is asked for in place of it. */
const hung = (asked) => {
  const [file, args, call] = asked.capture ?? [];
  // Emend starts programs by their absolute paths.
  const scope = basename(file ?? '') === 'git' ? scopes.getStore() : undefined;
  const hanging = scope?.traps.find(({ trap }) => trap.does.kind === 'hang git');
  const hangs =
    hanging !== undefined && !hanging.mine && claim(hanging, scope, `git ${args.join(' ')}`);
  return hangs ? { ...asked, capture: ['/bin/sh', HANGS, call] } : asked;
};
const { fork } = childProcess;
childProcess.fork = (...all) => {
  const launcher = fork(...all);
  const send = launcher.send.bind(launcher);
  launcher.send = (asked, ...rest) => send(hung(asked), ...rest);
  return launcher;
};
syncBuiltinESMExports();

const worker = await createWorker({
  env: process.env,
  home: await resolveHome(process.env),
  logger: pino({ level: 'warn' }, pino.destination({ fd: 2, sync: true })),
  interceptors: {
    activity: [
      (context) => ({ inbound: { execute: (input, next) => execute(context, input, next) } }),
    ],
  },
});
process.on('SIGTERM', () => void worker.stop());
process.stdout.write('ready\n');
await worker.done;
process.exit(0);
