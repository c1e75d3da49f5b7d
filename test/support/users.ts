/** Who a test tries things as: root and an ordinary user if the tests run as root, else the user of the tests. */
import { execFileSync, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { printSkipped } from './skipped.js';

const NOBODY = 65534;
const ORDINARY = 'an ordinary user';

export interface TestUser {
  readonly name: string;
  readonly uid: number;
  /** Starts a program as that user. */
  readonly as: readonly string[];
}

/** By its path, so that a test may set PATH. */
const setpriv = (): string =>
  execFileSync('sh', ['-c', 'command -v setpriv'], { encoding: 'utf8' }).trim();
const own = process.getuid?.() ?? NOBODY;
export const isRoot = own === 0;

/** The children of tests load files of this checkout, which another user cannot reach below a closed directory such as /root. */
const canReachCheckout = ({ as: [program = '', ...args] }: TestUser): boolean => {
  const script = 'test -r "$1" && test -x "$2"';
  const files = [resolve('package.json'), process.execPath];
  return spawnSync(program, [...args, 'sh', '-c', script, 'sh', ...files]).status === 0;
};

const findUsers = (): readonly TestUser[] => {
  if (!isRoot) return [{ name: ORDINARY, uid: own, as: [] }];
  const root: TestUser = { name: 'root', uid: 0, as: [] };
  const ordinary: TestUser = {
    name: ORDINARY,
    uid: NOBODY,
    as: [setpriv(), `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'],
  };
  if (canReachCheckout(ordinary)) return [root, ordinary];
  printSkipped(`user ${NOBODY} cannot read ${process.cwd()}, so only root tries this`);
  return [root];
};
export const users: readonly TestUser[] = findUsers();
export const whyNoOrdinaryUser = `the tests do not run as root, or user ${NOBODY} cannot read ${process.cwd()}`;
/** The user beside root; null where the tests do not run as root, or where that user cannot reach the checkout. */
export const ordinaryUser: TestUser | null = (isRoot ? users[1] : null) ?? null;
