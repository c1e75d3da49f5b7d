/** Who a test tries things as: root and an ordinary user if the tests run as root, else the user of the tests. */
import { execFileSync } from 'node:child_process';

const NOBODY = 65534;

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
export const users: readonly TestUser[] = isRoot
  ? [
      { name: 'root', uid: 0, as: [] },
      {
        name: 'an ordinary user',
        uid: NOBODY,
        as: [setpriv(), `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'],
      },
    ]
  : [{ name: 'an ordinary user', uid: own, as: [] }];
