/**
 * Where crash-worker.js can be hit inside an activity: at a system call of ours, or round a git process. `CRASH=<activity>:<point>:<which>`:
 *
 *     sys, sys-after      before or after a system call of the activity's first execution; which: its number, or `<call>@<text in a path>`
 *     git, git-after      as a git process with the argument <which> starts (it goes on by itself), or when it has ended
 *     git-cut             as git, and that git process does nothing
 *     count               nowhere: the number of system calls is written to CRASH_MARK at the end
 *
 * CRASH_SIGNAL is SIGKILL unless set. For git, PATH must begin with the directory that `gitWrapper` (git-wrapper.ts) made. `<CRASH_MARK>-ended` is
 * written when the execution that was hit has ended, which a stopped one does after it was woken.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { rmSync, writeFileSync } from 'node:fs';

const within = new AsyncLocalStorage();

const POINTS = ['sys', 'sys-after', 'git', 'git-after', 'git-cut', 'count'];
export const isFaultPoint = (when) => POINTS.includes(when);

/** Wraps every call of the shared `realSys` once; only calls made inside `inFaultyActivity` count. */
const shim = (realSys, when, which, hit) => {
  const [call, text] = which.includes('@') ? which.split('@') : [null, null];
  for (const [name, original] of Object.entries(realSys)) {
    realSys[name] = async (...args) => {
      const state = within.getStore();
      if (state === undefined || state.done) return original(...args);
      state.calls += 1;
      const due =
        call === null
          ? state.calls === Number(which)
          : name === call && args.some((a) => String(a).includes(text));
      if (!due || when === 'count') return original(...args);
      state.done = true;
      if (when === 'sys') hit();
      const result = await original(...args);
      if (when === 'sys-after') hit();
      return result;
    };
  }
};

/** An activity interceptor's `execute` for the point. */
export const faultAt = ({ realSys, name, when, which, mark, signal }) => {
  let seen = false;
  const hit = () => {
    writeFileSync(mark, String(process.pid));
    process.kill(process.pid, signal);
  };
  if (!when.startsWith('git')) shim(realSys, when, which, hit);
  return async (activity, input, next) => {
    if (activity !== name || seen) return next(input);
    seen = true;
    const state = { calls: 0, done: false };
    writeFileSync(`${mark}-armed`, '');
    try {
      return await within.run(state, () => next(input));
    } finally {
      rmSync(`${mark}-armed`, { force: true });
      if (when === 'count') writeFileSync(mark, String(state.calls));
      writeFileSync(`${mark}-ended`, '');
    }
  };
};
