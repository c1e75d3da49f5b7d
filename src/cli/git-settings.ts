/** Pager, editor and colours as the person has them configured for git; where git cannot say, its own defaults. */
import { existsSync } from 'node:fs';
import { gitLine } from '../workspace/git/index.js';
import { type Io, wantsColor } from './io.js';

const GIT_SETTINGS_MS = 5_000; // bound: What git is asked of its settings (pager, editor, colours).

const askGit = async (
  { env, cwd }: Io,
  dir: string,
  args: readonly string[],
): Promise<string | null> => {
  const call = { cwd: existsSync(dir) ? dir : cwd, environment: env, timeout_ms: GIT_SETTINGS_MS };
  const asked = await gitLine(args, call);
  return asked.ok ? asked.value.trimEnd() : null;
};

/** `GIT_PAGER`, `core.pager`, `PAGER`, else less. Null: none is wanted. */
export const gitPager = async (io: Io, dir: string): Promise<string | null> => {
  const pager = (await askGit(io, dir, ['var', 'GIT_PAGER'])) ?? io.env.PAGER ?? 'less';
  return pager === '' || pager === 'cat' ? null : pager;
};

/** `GIT_EDITOR`, `core.editor`, `VISUAL`, `EDITOR`; null where none is set that could work here (a dumb terminal). */
export const gitEditor = async (io: Io, dir: string): Promise<string | null> =>
  (await askGit(io, dir, ['var', 'GIT_EDITOR'])) ?? io.env.VISUAL ?? io.env.EDITOR ?? null;

/** Colour as a function of text; identity where it is off. */
export type Paint = (text: string) => string;
export type DiffColors = Readonly<Record<keyof typeof SLOTS, Paint>> & { readonly isOn: boolean };
const SLOTS = { meta: 'bold', frag: 'cyan', new: 'green', old: 'red', context: 'normal' } as const;
const RESET = '\u001b[m';
const none: Paint = (text) => text;

/** `color.diff`, `color.ui` and the colours of `color.diff.*`; NO_COLOR beats them all. */
export const gitColors = async (io: Io, dir: string): Promise<DiffColors> => {
  const off: DiffColors = {
    isOn: false,
    meta: none,
    frag: none,
    new: none,
    old: none,
    context: none,
  };
  if (!wantsColor(io.env, io.outIsTty)) return off;
  if (
    (await askGit(io, dir, ['config', '--get-colorbool', 'color.diff', String(io.outIsTty)])) ===
    'false'
  )
    return off;
  const paint = async (slot: keyof typeof SLOTS): Promise<Paint> => {
    const start = await askGit(io, dir, [
      'config',
      '--get-color',
      `color.diff.${slot}`,
      SLOTS[slot],
    ]);
    return start === null || start === '' ? none : (text) => `${start}${text}${RESET}`;
  };
  const slots = Object.keys(SLOTS) as (keyof typeof SLOTS)[];
  const paints = await Promise.all(slots.map(async (slot) => [slot, await paint(slot)] as const));
  return { ...off, ...Object.fromEntries(paints), isOn: true };
};

/** As git does it: less passes colours, ends where all fits on one screen, and leaves the screen as it was. */
export const PAGER_ENV = { LESS: 'FRX', LV: '-c' } as const;
