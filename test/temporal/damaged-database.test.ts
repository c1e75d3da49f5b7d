/** E11: `emend dev` on a database that is damaged, with a real dev server. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ProblemError, type Problem } from '../../src/shared/problems.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { newHome, serverOptions } from './support/server.js';

const PAGE_BYTES = 4096;
let place: Awaited<ReturnType<typeof newHome>>;
let options: Awaited<ReturnType<typeof serverOptions>>;
let server: DevServer | null = null;
const inHome = (name: string): string => join(place.home, name);

// The last writes are in the -wal file, which would repair the damage.
const CHECKPOINT =
  'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")';

beforeAll(async () => {
  place = await newHome();
  options = await serverOptions(place.home, 'file');
  server = await startDevServer(options);
  await server.stop();
  execFileSync('python3', ['-c', CHECKPOINT, options.dbFile ?? '']);
  cpSync(inHome('server'), inHome('whole'), { recursive: true });
});
afterAll(async () => {
  await server?.stop(0);
  await place.remove();
});

/** The first page keeps its beginning, by which SQLite knows its own files. */
const overwrite = (file: string): void => {
  const bytes = statSync(file).size - PAGE_BYTES;
  const fd = openSync(file, 'r+');
  writeSync(fd, Buffer.alloc(bytes, 'garbage '), 0, bytes, PAGE_BYTES);
  closeSync(fd);
};
const damages: readonly (readonly [string, (file: string) => void])[] = [
  ['empty', (file) => truncateSync(file, 0)],
  ['garbage', (file) => writeFileSync(file, Buffer.alloc(100_000, 'garbage '))],
  ['cut in half', (file) => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
  ['cut within its first page', (file) => truncateSync(file, 50)],
  ['overwritten behind its first page', overwrite],
];

test.each(damages)(
  'E11: a database that is %s: which file, what is lost, what to type',
  async (name, damage) => {
    const file = options.dbFile ?? '';
    rmSync(inHome('server'), { recursive: true });
    cpSync(inHome('whole'), inHome('server'), { recursive: true });
    damage(file);
    const problem = await startDevServer(options).then(
      async (wrong): Promise<Problem> => {
        await wrong.stop(0);
        throw new Error('the server started');
      },
      (error: unknown) => {
        if (error instanceof ProblemError) return error.problem;
        throw error;
      },
    );
    expect(problem.code).toBe('no_server');
    expect(problem.message).toContain(`${file}, is damaged`);
    expect(problem.next).toContain('open runs are lost; the archive');
    if (name !== 'garbage') return;
    const [move = ''] = /mv '.*?' '.*?'/.exec(problem.next ?? '') ?? [];
    execFileSync('sh', ['-c', move]);
    server = await startDevServer(options);
    await server.stop();
  },
);
