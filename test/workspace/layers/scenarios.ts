/** Random scenarios: commands that a test, a formatter or an adversary may run in a workspace. */
import { randomFrom } from '../../support/seeded.js';

export interface Scenario {
  readonly seed: number;
  /** Text of the proposal's files; null: the proposal removes the file. */
  readonly proposal: Readonly<Record<string, string | null>>;
  /** Commands of one run, the one after the other, on warm layers. */
  readonly commands: readonly string[];
}

/** Tracked, ignored and untracked files of the repository (property.test.ts makes them). */
export const FILES: Readonly<Record<string, string>> = {
  '.gitignore': 'target/\n*.o\nnode_modules/\n.venv/\nreport/\n',
  'emend.yaml': 'test: make\n',
  'a.txt': 'a\n',
  'src/b.txt': 'b\n',
  'src/deep/c.txt': 'c\n',
  'lib/d.txt': 'd\n',
  'run.sh': 'echo run\n',
  'with space/e f.txt': 'e\n',
};
export const OTHERS: Readonly<Record<string, string>> = {
  'target/built': 'built\n',
  'src/b.o': 'object\n',
  'node_modules/.bin/tool': 'echo tool\n',
  'node_modules/pkg/index.js': '1\n',
  '.venv/bin/git': 'echo git\n',
  'note.txt': 'note\n',
  'drafts/one.txt': 'one\n',
};

const DIRECTORIES = 'src src/deep lib target node_modules .venv drafts new report .git'.split(' ');
const PATHS = [
  ...Object.keys(FILES),
  ...Object.keys(OTHERS),
  ...DIRECTORIES,
  ...'new/x.txt new/y.o target/new.o src/new.o report/r.txt link .git/config .git/HEAD .git/index'.split(
    ' ',
  ),
  '.git/hooks/pre-commit',
];
const GIT = 'git -c user.name=t -c user.email=t';

/** P and Q are any paths, D and E directories. */
const COMMANDS = [
  'echo written > P',
  'echo more >> P',
  'mkdir -p D; echo x > D/made.txt; echo x > D/made.o',
  'rm -rf P',
  'rm -rf D; mkdir -p D; echo again > D/again.o',
  'rm -rf D; mkdir -p D; echo again > D/b.txt',
  'mv P Q',
  'mv D E',
  'cp -a D new',
  'cp -a P Q',
  'ln -sf /etc/passwd P',
  'ln -sfn /tmp P',
  'ln -sfn .. P; echo x > P/outside',
  'rm -rf D; ln -s E D; echo through > D/through.txt',
  'ln P Q; echo linked >> Q',
  'chmod 000 P',
  'chmod 4755 P',
  'chmod -R a+rwX D',
  'chmod 500 D',
  'touch P',
  'touch -d 2001-01-01 P',
  'mkfifo P',
  'truncate -s 200K P',
  'sed -i s/./x/ P',
  'find . -name "*.txt" -delete',
  'find . -path ./.git -prune -o -type f -exec sh -c "echo x >> \\"\\$1\\"" sh {} ";"',
  'git add -A',
  `${GIT} commit -qam x`,
  `${GIT} stash -u`,
  'git clean -fdxq',
  'git reset -q --hard',
  'git rm -rqf --cached D',
  'git init -q D; git -C D config core.fsmonitor "touch /tmp/x"',
  'git config core.fsmonitor ./evil',
  'mkdir -p D/.git; echo x > D/.git/config',
  'echo "sandbox: off" > emend.yaml',
  'mkdir -p .venv/bin; echo "echo evil" > .venv/bin/git; chmod 755 .venv/bin/git',
  'echo "echo evil" > node_modules/.bin/tool',
  'echo "target" > .gitignore',
  'echo "!target/" >> .gitignore; echo "*.txt" >> .gitignore',
  'rm -rf ./* ./.[!.]*',
  'mknod P c 0 0',
  `python3 -c 'import os; os.setxattr("D", "user.overlay.opaque", b"y")'`,
  `python3 -c 'import os; os.setxattr("D", "user.overlay.redirect", b"/E")'`,
  `python3 -c 'open(b"\\xff.o", "w"); open(b"src/\\xfe.txt", "w")'`,
  'mkdir -p report/in; echo r > report/r.txt; echo s > report/in/s.txt',
  'ln -s ../../.. report/away; echo x > report/away/x',
  'rm -rf report; ln -s src report',
  '(cd D && rm -rf "$PWD")',
  'chmod 000 .',
] as const;

export function scenarioFrom(seed: number): Scenario {
  const random = randomFrom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const command = (): string =>
    pick(COMMANDS)
      .replace(/\b[PQ]\b/g, () => `'./${pick(PATHS)}'`)
      .replace(/\b[DE]\b/g, () => pick(DIRECTORIES));
  const few = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: 1 + Math.floor(random() * most) }, make);
  const proposal: Record<string, string | null> = {};
  if (random() < 0.5)
    for (const path of few(3, () =>
      pick(['a.txt', 'src/b.txt', 'lib/d.txt', 'src/f.txt', 'up/g.txt']),
    ))
      proposal[path] =
        random() < 0.3 && path in FILES ? null : `proposed ${Math.floor(random() * 9)}\n`;
  // A command that fails does not end the others.
  const commands = few(3, () => few(4, () => `{ ${command()}; }`).join('\n'));
  return { seed, proposal, commands };
}
