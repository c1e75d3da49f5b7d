/** D6 and D10 of the adversary's table: memory in every form, and processes, by the kernel and by the monitor. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cgroupPlaces } from '../../../src/workspace/commands/cgroup.js';
import { alive } from '../../support/alive.js';
import { runAsUser } from '../../support/as-user.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';

const EATEN_MIB = 700;
const ENDED_S = 15;
const python = (lines: string): string => `python3 -c '${lines}'; sleep 20`;
/** A place may be absent or smaller: then nothing more is written. */
const file = (path: string): string => `head -c ${EATEN_MIB}M /dev/zero > ${path} && sleep 20`;
const REFUSED = /No space left on device|cannot create \/(home|root)\/x/;
const touch = `m=mmap.mmap(-1, ${EATEN_MIB}<<20)
for at in range(0, len(m), 4096): m[at]=1`;

interface Row {
  readonly name: string;
  readonly command: string;
  readonly isOpen?: true;
  /** The place may hold less than the limit, or not exist. */
  readonly mayBeSmall?: true;
}
const ROWS: readonly Row[] = [
  {
    name: 'private memory of several processes',
    command: `for i in 1 2 3 4; do python3 -c 'a=b"x"*(175<<20); import time; time.sleep(20)' & done; wait`,
  },
  {
    name: 'shared anonymous memory',
    command: python(`import mmap,time\n${touch}\ntime.sleep(20)`),
  },
  {
    name: 'shared anonymous memory, touched by a process that has ended',
    command: python(
      `import mmap,os,time\nm=mmap.mmap(-1, ${EATEN_MIB}<<20)\nif os.fork()==0:\n  for at in range(0, len(m), 4096): m[at]=1\n  os._exit(0)\nos.wait()\ntime.sleep(20)`,
    ),
  },
  {
    name: 'memfd',
    command: python(
      `import os,time\nf=os.memfd_create("x")\nfor i in range(${EATEN_MIB}): os.write(f, b"x"*(1<<20))\ntime.sleep(20)`,
    ),
  },
  { name: '/tmp', command: file('/tmp/x') },
  { name: '/dev/shm', command: file('/dev/shm/x'), mayBeSmall: true },
  { name: '/home', command: file('/home/x'), mayBeSmall: true },
  { name: '/root', command: file('/root/x'), mayBeSmall: true },
  { name: '/var/tmp', command: file('/var/tmp/x'), mayBeSmall: true },
  { name: "a cache's overlay", command: file('$HOME/.npm/_cacache/x') },
  { name: "the workspace's overlay of base tests", command: file('x'), isOpen: true },
];

describeIf(found.works, whyNone)('a command over its limit', () => {
  let users: readonly BoxUser[] = [];
  let program: ReturnType<typeof transpile>;
  let hasGroup = false;
  beforeAll(async () => {
    users = await boxUsers();
    program = transpile('runner', 'test/workspace/commands/runner-child.ts');
    hasGroup = typeof (await cgroupPlaces()) !== 'string';
  }, 60_000);
  afterAll(async () => {
    program.remove();
    await endBoxUsers();
  });

  /** Each user, and root with the kernel's limits also without them. */
  const kinds = () =>
    users.flatMap((user) =>
      user.uid === 0 && hasGroup
        ? [
            { user, isGrouped: true },
            { user, isGrouped: false },
          ]
        : [{ user, isGrouped: true }],
    );

  test.each(sampled('places of memory', ROWS, 1))(
    'D6: $name is stopped at memory_mib',
    async ({ command, isOpen, mayBeSmall }) => {
      for (const { user, isGrouped } of kinds()) {
        const ran = await runAsUser({
          user,
          program: program.path,
          command,
          settings: { memory_mib: 300 },
          caches: ['.npm/_cacache'],
          isGrouped,
          ...(isOpen === undefined ? {} : { isOpen }),
        });
        const who = `${user.name}, ${isGrouped}: ${ran.output}`;
        expect(ran.seconds).toBeLessThan(ENDED_S);
        if (mayBeSmall === true && ran.exit !== null && REFUSED.test(ran.output)) continue;
        expect([who, ran.ended]).toEqual([who, expect.stringMatching(/`memory_mib` allows 300/)]);
        expect(ran.output).toContain('stopped by Emend');
      }
    },
    120_000,
  );

  test('21: empty files in /tmp, which take no space, are stopped at memory_mib', async () => {
    const command = python(
      'import os,time\nfor n in range(200_000): os.close(os.open(f"/tmp/{n}", os.O_CREAT))\ntime.sleep(20)',
    );
    for (const { user, isGrouped } of kinds()) {
      const settings = { memory_mib: 100 };
      const ran = await runAsUser({ user, program: program.path, command, settings, isGrouped });
      const who = `${user.name}, ${isGrouped}: ${ran.output}`;
      expect([who, ran.ended]).toEqual([who, expect.stringMatching(/`memory_mib` allows 100/)]);
      expect(ran.seconds).toBeLessThan(ENDED_S);
    }
  }, 60_000);

  test('D10: 300 processes as root with `processes: 40`: refused by the kernel, else ended by the monitor', async () => {
    const command = `i=0; while [ $i -lt 300 ]; do sleep 20 & i=$((i+1)); done; sleep 3`;
    for (const { user, isGrouped } of kinds()) {
      const ran = await runAsUser({
        user,
        program: program.path,
        command,
        settings: { processes: 40 },
        isGrouped,
      });
      const who = `${user.name}, ${isGrouped}: ${ran.output}`;
      const isKernel = user.uid !== 0 || (isGrouped && hasGroup);
      if (isKernel) expect([who, ran.exit]).not.toEqual([who, 0]);
      else expect([who, ran.ended]).toEqual([who, expect.stringMatching(/`processes` allows 40/)]);
      if (user.uid === 0 && isKernel)
        expect(ran.output).toContain('a process could not be started; `processes` allows 40');
      expect(ran.seconds).toBeLessThan(ENDED_S);
    }
  }, 60_000);

  test('what starts processes faster than the monitor looks ends as a whole', async () => {
    const marker = `8765${process.pid}`;
    const command = `while :; do (sleep ${marker} &) ; done`;
    for (const { user, isGrouped } of kinds()) {
      const ran = await runAsUser({
        user,
        program: program.path,
        command: `${command} & head -c 700M /dev/zero > /tmp/x; sleep 20`,
        settings: { processes: 200, memory_mib: 300 },
        isGrouped,
      });
      expect(`${ran.output} ${ran.ended}`).toMatch(/allows (200|300)|fork/);
      expect(commandLines()).not.toContain(`sleep\0${marker}`);
    }
  }, 60_000);

  test('leaves no control group', async () => {
    const places = await cgroupPlaces();
    // A group has the name of the process that made it. Other processes of this machine may run commands at the same time.
    const ownerOf = (name: string): number => Number(/^emend-(\d+)-/.exec(name)?.[1]);
    const isLeft = (name: string): boolean =>
      name.startsWith('emend-') && (ownerOf(name) === process.pid || !alive(ownerOf(name)));
    for (const { parent } of typeof places === 'string' ? [] : places)
      expect(readdirSync(parent).filter(isLeft)).toEqual([]);
  });
});

const commandLines = (): string =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return ''; // it ended meanwhile
      }
    })
    .join('\n');
