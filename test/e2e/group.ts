/** Homes on one store, as machines of a team have them; the scene's own is `alpha`. And two files that a model raises. */
import { dirname, join } from 'node:path';
import { freshStore } from './bucket-store.js';
import { emendIn } from './ends.js';
import { hostIdOf } from './homes.js';
import { numbered, scene, whole, type Scene } from './support.js';

export interface SaidAt {
  readonly code: number;
  readonly said: string;
}
export interface Group extends Scene {
  /** Its directory. */
  homeAt(name: string): string;
  id(name: string): string;
  /** What a person types there, and both of its outputs. */
  emendAt(name: string, ...args: readonly string[]): Promise<SaidAt>;
}

/** `cwd`: where people type, below the scene's directory; default: its repository. */
export const groupOf = async (
  files: Record<string, string>,
  rules: Parameters<typeof scene>[1],
  { env = {}, cwd }: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): Promise<Group> => {
  const given = { ...(await freshStore()), EMEND_TEST_SECOND_HOME: '', ...env };
  const s = await scene(files, rules, { env: given, own: false });
  const homeAt = (name: string): string =>
    name === 'alpha' ? s.home : join(dirname(s.home), name);
  const at = cwd === undefined ? s.repo : join(dirname(s.repo), cwd);
  return {
    ...s,
    homeAt,
    id: (name) => hostIdOf(homeAt(name)),
    emendAt: async (name, ...args) => {
      const { code, out, err } = await emendIn(
        s,
        { cwd: at, env: { EMEND_HOME: homeAt(name), COLUMNS: '200' } },
        ...args,
      );
      return { code, said: `${out}${err}` };
    },
  };
};

export const BEFORE = numbered(20);
export const AFTER = BEFORE.replace('line 15\n', 'line fifteen\n');
/** Of `a.txt` and `b.txt`, each asked for by itself, and of their brief. */
export const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'Words.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  { name: 'a', match: { contains: '- a.txt' }, answer: whole({ 'a.txt': AFTER }) },
  { name: 'b', match: { contains: '- b.txt' }, answer: whole({ 'b.txt': AFTER }) },
];
