/** Which lines of git's configuration Emend takes for the user's own programs. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  originFault,
  valueFault,
  type ProgramKind,
} from '../../../src/workspace/git/program-trust.js';
import { learnWorkspace } from '../../../src/system/programs.js';

const before = process.env.PATH ?? '';
const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-trust-')));
const [workspace, bin] = [join(dir, 'ws'), join(dir, 'bin')];
const NAMES = [
  ...[
    'git-lfs',
    'git-crypt',
    'nbstripout',
    'jq',
    'gh',
    'gpg',
    'my-clean',
    'op-ssh-sign',
    'ssh',
    'sh',
    'git',
    'cat',
    'tr',
  ],
  ...[
    'sed',
    'python3',
    'node',
    'make',
    'npm',
    'env',
    'ssh-add',
    'mergiraf',
    'curl',
    'perl',
    'timeout',
  ],
];
beforeAll(() => {
  for (const place of [workspace, join(workspace, 'tools'), bin]) mkdirSync(place);
  for (const name of [...NAMES.map((name) => join(bin, name)), join(workspace, 'tools/clean')]) {
    writeFileSync(name, '#!/bin/sh\n');
    chmodSync(name, 0o755);
  }
  symlinkSync(join(workspace, 'tools/clean'), join(bin, 'to-workspace'));
  symlinkSync(join(bin, 'my-clean'), join(workspace, 'to-bin'));
  symlinkSync(join(workspace, 'to-bin'), join(bin, 'through-workspace'));
  symlinkSync(join(bin, 'python3'), join(bin, 'my-python'));
  process.env.PATH = bin;
  learnWorkspace(workspace);
});
afterAll(() => {
  process.env.PATH = before;
  rmSync(dir, { recursive: true, force: true });
});
/** `BIN`, `WS`: the directories. */
const placed = (value: string): string => value.replaceAll('BIN', bin).replaceAll('WS', workspace);

const TRUSTED: readonly (readonly [value: string, kind?: ProgramKind])[] = [
  ['git-lfs clean -- %f'],
  ['git-lfs filter-process'],
  ['git lfs clean -- %f'],
  ['"git-crypt" clean'],
  ['"BIN/git-crypt" smudge --key-name=x'],
  ['nbstripout'],
  ['nbstripout -t'],
  ['jq --indent 1 \'.cells[] | select(has("outputs"))\''],
  ['jq -S .'],
  ['BIN/my-clean'],
  ['BIN/my-clean --level=3 -v %f'],
  ["'BIN/my-clean' -- %f"],
  ['my-clean'],
  ['cat'],
  ['tr a-z A-Z | cat'],
  ["sed 's/a/b/g;s|c|d|' -E"],
  ["sed -e '/secret/d'"],
  ["echo 'no such key' >&2; false"],
  ['BIN/python3 BIN/my-clean %f'],
  ['python3 -I -m nbstripout'],
  ['sh BIN/my-clean'],
  ["sh -c 'cat'"],
  ['true'],
  ['mergiraf merge --git %O %A %B -s %S -x %X -y %Y -p %P'],
  ['git merge-file %A %O %B'],
  ['ssh-add -L'],
  ['ssh -i ~/.ssh/id -o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new -p 22'],
  ['ssh -F /dev/null -oBatchMode=yes'],
  ['gpg', 'program'],
  ['BIN/op-ssh-sign', 'program'],
  ['!BIN/gh auth git-credential', 'helper'],
  ['!gh auth git-credential', 'helper'],
  ['!f() { test "$1" = get && echo "password=${TOKEN}"; }; f', 'helper'],
  ['!f() { echo username=x; echo "password=$(cat ~/.token)"; }; f', 'helper'],
  ['osxkeychain', 'helper'],
  ['manager', 'helper'],
  ['cache --timeout=3600', 'helper'],
  ['store --file ~/.git-credentials', 'helper'],
  ['BIN/my-clean', 'helper'],
  ['', 'helper'],
];
test.each(TRUSTED)('trusted: %s', (value, kind = 'shell') => {
  expect(valueFault(placed(value), kind)).toBeNull();
});

const UNTRUSTED: typeof TRUSTED = [
  ['./tools/clean'],
  ['tools/clean'],
  ['WS/tools/clean'],
  ['sh ./tools/clean %f'],
  ['sh tools/clean'],
  ['sh clean'],
  ['sh WS/tools/later'],
  ['cd tools && sh ./clean'],
  ['sh ${PWD}/tools/clean'],
  ['sh "$PWD/tools/clean"'],
  ['sh $(git rev-parse --show-toplevel)/tools/clean'],
  ['sh `pwd`/tools/clean'],
  ['sh "./tools/clean"'],
  ['sh ./tools\\/clean'],
  ['BIN/to-workspace'],
  ['BIN/through-workspace'],
  ['to-workspace'],
  ['BIN/my-clean WS/tools/x'],
  ['BIN/my-clean tools'],
  ['BIN/my-clean --config=tools/x'],
  ['BIN/my-clean --config=~/x'],
  ['BIN/my-clean -ctools'],
  ['python3 -m tools.x'],
  ['python3 -c "import tools.x"'],
  ['my-python -m tools.x'],
  ['BIN/python3 tools/x.py'],
  ['node ./tools/x'],
  ['node tools/x'],
  ['node -r ./x BIN/my-clean'],
  ['make -s'],
  ['BIN/make'],
  ['npm run -s clean'],
  ['env ./tools/clean'],
  ['timeout 5 ./tools/clean'],
  ['PATH=./tools:$PATH clean'],
  ['PATH=tools cat'],
  ['eval "$(cat tools/x)"'],
  ['. ./tools/x'],
  ['. tools/x'],
  ['command ./tools/clean'],
  ['exec ./tools/clean'],
  ['cat | sh'],
  ['cat | ./tools/clean'],
  ['cat; ./tools/clean'],
  ['cat && tools/clean'],
  ['cat > BIN/my-clean'],
  ['cat <(./tools/clean)'],
  ["sh -c './tools/clean'"],
  ["sh -c 'cd tools; ./clean'"],
  ['jq -f tools/x.jq'],
  ['jq -L tools .'],
  ['sed -f tools/x.sed'],
  ['sed -ftools/x.sed'],
  ["sed '1e ./tools/clean'"],
  ["sed 's/a/b/e'"],
  ["sed 's/a/b/w tools/clean'"],
  ['git x'],
  ['git -c alias.x=!./tools/clean x'],
  ['git lfs clean -- ./tools/%f'],
  ['not-installed'],
  ['BIN/not-there'],
  ['~other/clean'],
  ['"~/clean"'],
  ['{sh,./tools/clean}'],
  ['f() { ./tools/clean; }; f'],
  ['for x in 1; do ./tools/clean; done'],
  ['if true; then ./tools/clean; fi'],
  ['cat \\\n./tools/clean | sh'],
  ['unfinished "'],
  ['ssh -F tools/config'],
  ['ssh -Ftools'],
  ['ssh -o ProxyCommand=./tools/clean'],
  ['ssh -oProxyCommand=sh'],
  ['ssh -o "ProxyCommand ./tools/clean"'],
  ['ssh -o Include=tools/x'],
  ['ssh -i tools/key'],
  ['gpg2', 'program'],
  ['./gpg', 'program'],
  ['~/gpg', 'program'],
  ['WS/tools/clean', 'program'],
  ['!./tools/helper', 'helper'],
  ['!f() { sh ./tools/clean; }; f', 'helper'],
  ['!f() { echo "password=$(./tools/clean)"; }; f', 'helper'],
  ['!f() { echo "$(echo "$(./tools/clean)")"; }; f', 'helper'],
  ['../tools/helper', 'helper'],
  ['store --file tools/x', 'helper'],
  ['WS/tools/clean', 'helper'],
];
test.each(UNTRUSTED)('not trusted: %s', (value, kind = 'shell') => {
  expect(valueFault(placed(value), kind)).toEqual(expect.any(String));
});

test('a file of settings in a workspace is not trusted, in the git directory and elsewhere it is', () => {
  const gitDir = join(workspace, '.git');
  mkdirSync(gitDir);
  for (const file of [join(gitDir, 'config'), join(workspace, 'gitconfig'), join(dir, 'gitconfig')])
    writeFileSync(file, '');
  symlinkSync(join(workspace, 'gitconfig'), join(dir, 'linked'));
  symlinkSync(join(workspace, 'gitconfig'), join(gitDir, 'linked'));
  const fault = (file: string) => originFault(file, [gitDir]);
  expect(fault(join(gitDir, 'config'))).toBeNull();
  expect(fault(join(dir, 'gitconfig'))).toBeNull();
  for (const file of [
    join(workspace, 'gitconfig'),
    join(workspace, 'later'),
    join(dir, 'linked'),
    join(gitDir, 'linked'),
  ])
    expect(fault(file)).toMatch('in the workspace');
});
