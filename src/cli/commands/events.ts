import { reading } from '../../client/open.js';
import { refreshRun, resolveRun, type ResolvedRun } from '../../client/runs/resolve.js';
import { runEvents } from '../../client/runs/show.js';
import { watchRun } from '../../client/runs/watch.js';
import type { StepEvent } from '../../shared/events.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { Io, JsonFlag } from '../io.js';
import { jsonText } from '../json.js';
import { showLiveText } from '../live.js';
import { failurePatterns, isOfKind, type EventKind } from '../../shared/event-text.js';
import { eventText } from '../render/text.js';
import { interruptible, type Session, withEmend } from '../session.js';

interface EventsFlags extends JsonFlag {
  readonly follow?: true;
  /** Follows as well. */
  readonly live?: true;
  readonly kind?: EventKind;
}

interface Printing extends Session<EventsFlags> {
  /** Those that were printed, where failures are asked for. */
  readonly failures: StepEvent[];
}

/** `--json`: one object a line, so that it can be followed too. As text, failures are counted by pattern at the end. */
export const events = (io: Io, run: string, flags: EventsFlags): Promise<ExitCode> =>
  withEmend(io, async (emend) => {
    const printing: Printing = { io, emend, flags, failures: [] };
    const resolved = await reading(emend, (told) => resolveRun(told, run));
    if (resolved.archived.omitted !== null) io.err(resolved.archived.omitted);
    const exit = await follow(printing, resolved);
    if (flags.json !== true) for (const text of failurePatterns(printing.failures)) io.out(text);
    return exit;
  });

const follow = async (printing: Printing, resolved: ResolvedRun): Promise<ExitCode> => {
  const { io, emend, flags } = printing;
  let last = await printAfter(printing, resolved, 0);
  if ((flags.follow !== true && flags.live !== true) || resolved.live?.open !== true)
    return EXIT.done;
  return interruptible(io, async (signal) => {
    const print = (lines: readonly string[]): void => {
      for (const text of lines) io.out(text);
    };
    const live = flags.live === true ? showLiveText(emend.calls, resolved.stepKey, print) : null;
    try {
      const closed = await watchRun(
        emend,
        resolved,
        async ({ status }) => {
          if (status.stage !== 'closed' && status.lastSeq > last)
            last = await printAfter(printing, resolved, last);
          return undefined;
        },
        { signal },
      );
      if (closed !== null) await printAfter(printing, await refreshRun(emend, resolved), last);
    } finally {
      await live?.stop();
    }
    return signal.aborted ? EXIT.interrupted : EXIT.done;
  });
};

/** Returns the last `seq`. */
const printAfter = async (
  { io, emend, flags, failures }: Printing,
  run: ResolvedRun,
  after: number,
): Promise<number> => {
  let last = after;
  for (const event of await runEvents(emend, run, after)) {
    last = event.seq;
    if (flags.kind !== undefined && !isOfKind(event, flags.kind)) continue;
    io.out(flags.json === true ? jsonText('events', event) : textLine(event));
    if (flags.kind === 'failures') failures.push(event);
  }
  return last;
};

const textLine = (event: StepEvent): string =>
  `${new Date(event.at).toISOString().slice(11, 19)}  ${eventText(event)}`;
