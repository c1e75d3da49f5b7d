/** `emend hosts`, `emend move`: the hosts that share a store, a home that takes the place of a lost one, and a run that leaves it. */
import {
  fewProblems,
  groupProblems,
  listHosts,
  openOnServer,
  shownHost,
  type HostGroup,
  type HostView,
} from '../../client/runs/hosts.js';
import { needRuns, noServerNote, type Emend } from '../../client/types.js';
import { hostQueueOf } from '../../shared/names.js';
import { shownKey } from '../../shared/ids.js';
import { BOUNDS } from '../../shared/limits.js';
import { fail, sentence } from '../../shared/problems.js';
import { count } from '../../shared/text.js';
import { homePaths, takeHostId } from '../../stores/home.js';
import { orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import { HOST_SILENT_MS, pollingOf } from '../../temporal/live-workers.js';
import { gitLine } from '../../workspace/git/index.js';
import { reading } from '../../client/open.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { plain, table } from '../render/text.js';
import { withEmend } from '../session.js';
import type { AfterFlags } from '../after-answer.js';
import { directorySettings } from '../move-place.js';
import { decide } from './decide.js';

export const hosts = (io: Io, flags: JsonFlag): Promise<void> =>
  withEmend(io, async (opened) => {
    const { found, note } = await reading(opened, async (emend) => ({
      found: await listHosts(emend),
      note: emend.runs === null ? noServerNote(emend) : null,
    }));
    const rows = table([
      ['host', 'roles', 'version', 'last seen', 'open runs'],
      ...found.hosts.map(rowOf),
    ]);
    printFound({ io, flags }, 'hosts', { v: 1, ...found, note }, rows.map(plain));
    const notes =
      note === null
        ? [...fewProblems(groupProblems(found.hosts)).map(sentence), ...unreadNotes(found)]
        : [note];
    for (const text of flags.json === true ? [] : notes) io.err(plain(text));
  });

/** Names what the table leaves out. */
const unreadNotes = ({ hosts: found, unread }: HostGroup): readonly string[] => {
  const unchecked = found.filter(({ checked }) => !checked).length;
  return [
    ...(unread === 0 ? [] : [`${count(unread, 'older open run')} not counted in the table.`]),
    ...(unchecked === 0
      ? []
      : [`${count(unchecked, 'host')} not checked: this server takes no heartbeats of workers.`]),
  ];
};

const rowOf = ({
  id,
  name,
  here,
  roles,
  checked,
  versions,
  seen,
  runs,
}: HostView): readonly string[] => [
  `${shownHost(id, name)}${here ? ' this home' : ''}`,
  roles.join(', ') || (checked ? 'none' : 'not checked'),
  versions.join(', '),
  roles.length > 0 ? 'now' : seen.slice(0, 19).replace('T', ' '),
  [`${runs.length}`, ...runs.slice(0, HOST_RUNS).map((run) => shownKey(run))].join(' '),
];
const HOST_RUNS = 3; // bound: Runs of a host that are named in the table.

const hostNamed = (hosts: readonly HostView[], text: string, store: string): HostView => {
  const [host, ...others] = hosts.filter(({ id }) => id.startsWith(text.toLowerCase()));
  if (host !== undefined && others.length === 0 && text.length >= BOUNDS.runPrefix_chars)
    return host;
  return fail(
    'usage',
    `${host === undefined ? 'No' : `Not one, but ${others.length + 1}`} other host of the store at ${store} has an id that begins with "${text.slice(0, 40)}".`,
    'See `emend hosts`. A home sees and replaces those of its own store: set EMEND_STORE.',
  );
};

type MoveFlags = AfterFlags &
  Readonly<
    Partial<Record<'decision' | 'to' | 'host', string> & Record<'asRepository', string | true>>
  >;

/** What the directory where a person stands is a clone of. */
const originOf = async ({ cwd }: Io): Promise<string> => {
  const found = await gitLine(['remote', 'get-url', 'origin'], { cwd });
  if (found.ok) return found.value;
  return fail(
    'usage',
    `${cwd} has no remote \`origin\` with a URL.`,
    'Type the URL: --as-repository URL.',
  );
};

export const move = async (
  io: Io,
  run: string,
  { to, host, asRepository, ...flags }: MoveFlags,
) => {
  if ((asRepository === undefined) === (to === undefined && host === undefined))
    fail(
      'usage',
      'move needs one place.',
      'Type --to DIR, --host ID, --to DIR --host ID, or --as-repository URL.',
    );
  const directory = async (emend: Emend): Promise<readonly string[]> => {
    const id =
      host === undefined ? null : hostNamed((await listHosts(emend)).hosts, host, emend.store).id;
    const settings = await directorySettings(emend, io, { to: to ?? null, host: id });
    return Object.entries(settings).map(([name, value]) => `${name}=${String(value)}`);
  };
  const url = asRepository === true ? await originOf(io) : asRepository;
  const set = url === undefined ? await withEmend(io, directory) : [`repository=${url}`];
  return decide(io, run, 'move', { ...flags, file: [], set });
};

/** Refuses while the host that is to be replaced may still work, or this home has work of its own. */
export const adopt = (io: Io, text: string): Promise<void> =>
  withEmend(io, async (emend) => {
    const { home, queues, store } = emend;
    const runs = needRuns(emend);
    const { hosts: known } = await listHosts(emend);
    const others = known.filter(({ here }) => !here);
    const host = hostNamed(others, text, store);
    const transactions = (await orNull(realSys.readdir(homePaths(home).transactions))) ?? [];
    if (
      transactions.length > 0 ||
      known.some(({ here, runs: own, roles }) => here && own.length + roles.length > 0)
    )
      fail(
        'conflict',
        `${home} is a host of its own: it has worked, or open runs need it.`,
        'Adopt from a new home: set EMEND_HOME to a new directory.',
      );
    const shown = shownHost(host.id, host.name);
    const queue = hostQueueOf(queues, host.id);
    const [polls] = pollingOf((await runs.seenAt(queue, [queue])).workers);
    if (polls !== undefined)
      fail(
        'conflict',
        `Host ${shown} may still work: ${polls.said}.`,
        `Stop its worker first; one that was killed counts as gone after ${HOST_SILENT_MS / 1000} s.`,
      );
    await takeHostId(home, host.id);
    io.out(plain(`${home} is now host ${shown}. Start its worker: emend worker`));
    for (const { memo } of (await openOnServer(emend)).runs)
      if (memo?.host === host.id)
        io.out(plain(`  run ${shownKey(memo.stepKey)} needs ${memo.workspace}`));
  });
