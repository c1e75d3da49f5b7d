/** Counts what a process costs: its own CPU time, fsyncs, child processes (those that ES modules start with `spawn`). */
import childProcess from 'node:child_process';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { devNull } from 'node:os';
import { performance } from 'node:perf_hooks';

const NOTHING = () => ({ fsyncs: 0, children: [], commands: {} });
let seen = NOTHING();
let cpu = process.cpuUsage();

const countFsyncs = async () => {
  const handle = await open(devNull);
  const kind = Object.getPrototypeOf(handle);
  await handle.close();
  for (const name of ['sync', 'datasync']) {
    const original = kind[name];
    kind[name] = function (...args) {
      seen.fsyncs += 1;
      return original.apply(this, args);
    };
  }
};

/** What the child does, for the list of commands: a git command by its name, else the program. */
const titleOf = (file, args) => {
  if (file !== 'git') return file;
  const words = args.filter((arg, at) => arg !== '-c' && args[at - 1] !== '-c' && !arg.startsWith('--'));
  return `git ${words[0] ?? ''}`;
};

const countChildren = () => {
  const { spawn } = childProcess;
  childProcess.spawn = (file, args, ...rest) => {
    const from = performance.now();
    const child = spawn(file, args, ...rest);
    const title = titleOf(file, Array.isArray(args) ? args : []);
    const { children, commands } = seen;
    commands[title] = (commands[title] ?? 0) + 1;
    child.once('close', () => children.push([from, performance.now()]));
    return child;
  };
  syncBuiltinESMExports();
};

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
  const used = process.cpuUsage(cpu);
  return {
    cpu_ms: (used.user + used.system) / 1000,
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
    const commands = Object.entries(now.commands).map(([name, n]) => [name, n - (before.commands[name] ?? 0)]);
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
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const { fsyncs, children, commands } = seen;
  seen = NOTHING();
  return {
    cpu_ms: (used.user + used.system) / 1000,
    fsyncs,
    children: Object.values(commands).reduce((sum, n) => sum + n, 0),
    child_ms: covered_ms(children),
    commands,
  };
};

export const startProbe = async () => {
  countChildren();
  await countFsyncs();
};
