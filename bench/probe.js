/**
 * Counts what a worker costs: the CPU time of its process and of its launcher (src/system/launcher.ts), fsyncs, child processes (those that ES
 * modules start with `spawn`, and those that the launcher is asked for). From the moment it is loaded: before anything of dist.
 */
import childProcess from 'node:child_process';
import fs, { readdirSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { performance } from 'node:perf_hooks';

const NOTHING = () => ({ fsyncs: 0, children: [], commands: {} });
let seen = NOTHING();
let launcher = null;

/** Of all threads, ms; the scheduler counts nanoseconds. */
const launcher_ms = () => {
  if (launcher === null) return 0;
  const of = `/proc/${launcher.pid}/task`;
  const spent = (thread) => Number(readFileSync(`${of}/${thread}/schedstat`, 'utf8').split(' ')[0]);
  try {
    return readdirSync(of).reduce((sum, thread) => sum + spent(thread), 0) / 1e6;
  } catch {
    return 0;
  }
};
export const cpuUsed_ms = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + launcher_ms();
};
let cpu = cpuUsed_ms();

const { fsync } = fs;
fs.fsync = (...args) => {
  seen.fsyncs += 1;
  return fsync(...args);
};

/** What the child does, for the list of commands: a git command by its name, else the program. */
const titleOf = (file, args) => {
  if (file !== 'git') return file;
  const words = args.filter(
    (arg, at) => arg !== '-c' && args[at - 1] !== '-c' && !arg.startsWith('--'),
  );
  return `git ${words[0] ?? ''}`;
};

/** Returns what is to be called at its end. */
const begun = (file, args) => {
  const from = performance.now();
  const title = titleOf(file, Array.isArray(args) ? args : []);
  const { children, commands } = seen;
  commands[title] = (commands[title] ?? 0) + 1;
  return () => children.push([from, performance.now()]);
};
const { fork, spawn } = childProcess;
childProcess.spawn = (file, args, ...rest) => {
  const child = spawn(file, args, ...rest);
  child.once('close', begun(file, args));
  return child;
};
childProcess.fork = (path, ...rest) => {
  const child = fork(path, ...rest);
  // The worker that is measured costs its own.
  if (!/launcher-process\.js$/.test(path)) return child;
  launcher = child;
  const ends = new Map();
  const { send } = launcher;
  launcher.send = (asked, ...rest) => {
    const [file, args] = asked.capture ?? (asked.run ? ['/bin/sh', []] : []);
    if (file !== undefined) ends.set(asked.id, begun(file, args));
    return send.call(launcher, asked, ...rest);
  };
  launcher.on('message', ({ id, told }) => told === undefined && ends.get(id)?.());
  return launcher;
};
syncBuiltinESMExports();

/** Milliseconds in which at least one of the intervals was open: children that run side by side count once. */
export const covered_ms = (intervals) => {
  let total = 0;
  let end = -Infinity;
  for (const [from, to] of [...intervals].sort((a, b) => a[0] - b[0])) {
    total += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return total;
};

/** What has been counted since the last `takeCosts`, for whoever takes a part of it: `partOf`. */
const look = () => {
  return {
    cpu_ms: cpuUsed_ms() - cpu,
    fsyncs: seen.fsyncs,
    commands: { ...seen.commands },
    at: performance.now(),
  };
};

/** What `work` cost the process, as `{ cpu_ms, fsyncs, commands, ms }`, with whatever ran beside it. */
export const partOf = async (work, tell) => {
  const before = look();
  try {
    return await work();
  } finally {
    const now = look();
    const commands = Object.entries(now.commands).map(([name, n]) => [
      name,
      n - (before.commands[name] ?? 0),
    ]);
    tell({
      cpu_ms: now.cpu_ms - before.cpu_ms,
      fsyncs: now.fsyncs - before.fsyncs,
      commands: Object.fromEntries(commands.filter(([, n]) => n > 0)),
      ms: now.at - before.at,
    });
  }
};

/** What it cost since the last call: `{ cpu_ms, fsyncs, children, child_ms, commands }`. */
export const takeCosts = () => {
  const before = cpu;
  cpu = cpuUsed_ms();
  const { fsyncs, children, commands } = seen;
  seen = NOTHING();
  return {
    cpu_ms: cpu - before,
    fsyncs,
    children: Object.values(commands).reduce((sum, n) => sum + n, 0),
    child_ms: covered_ms(children),
    commands,
  };
};
