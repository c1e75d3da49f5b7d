/** Which host does the work of a run: that of its workspace, or for a run on a repository one that has a checkout. */
import { TimeoutType } from '@temporalio/common';
import {
  CancellationScope,
  scheduleActivity,
  TimeoutFailure,
  type ActivityOptions,
} from '@temporalio/workflow';
import {
  ACTIVITIES,
  type ActivityName,
  type ActivitySpec,
  type InputOf,
  type ResultOf,
} from '../../shared/activities.js';
import { commandQueueOf, queueNames } from '../../shared/names.js';
import { versioned } from '../../shared/problems.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { optionsOf, type Timed } from './call-options.js';
import { HostGone, HostWatch } from './host-watch.js';

/** Which run an activity works for, and on what. */
type Place = Pick<ActivityBase, 'stepKey'> & {
  readonly [Name in 'repository' | 'held' | 'marked']?: ActivityBase[Name] | undefined;
};
/** Schedules the activity, with other options than its own. */
type Ask<R> = (more?: ActivityOptions) => Promise<R>;

// bound: So many times faster a command on a repository gives up a host: another host continues, and nobody is asked.
const REPOSITORY_LOOKS = 20;

export class Hosts {
  private readonly run: Timed;
  private readonly watch: HostWatch;
  private readonly isAnywhere: boolean;
  /** The host that did the run's work on a repository last: it has a checkout. */
  private last: string | undefined;

  constructor(run: Timed) {
    const { queues, repository, timings } = run;
    this.run = run;
    this.isAnywhere = repository !== undefined && queues.workflow !== queues.host;
    const looks = this.isAnywhere ? REPOSITORY_LOOKS : 1;
    this.watch = new HostWatch(timings.scheduleToStart_ms / looks);
  }

  async call<R extends object>(role: ActivitySpec['role'], input: Place, ask: Ask<R>): Promise<R> {
    if (role !== 'host' && role !== 'command') return ask();
    if (role === 'host') return this.isAnywhere ? this.noted(this.nearby(ask)) : ask();
    return this.isAnywhere ? this.commandAnywhere(input, ask) : this.command(input, ask);
  }

  private async noted<R extends object>(work: Promise<R>): Promise<R> {
    const result = await work;
    this.last = (result as { readonly host?: string }).host ?? this.last;
    return result;
  }

  /** Prefers the host that has a checkout, for a while. */
  private async nearby<R>(ask: Ask<R>): Promise<R> {
    if (this.last === undefined) return ask();
    const scheduleToStartTimeout = this.run.timings.checkoutWait_ms;
    return ask({ taskQueue: this.queueAt(this.last), scheduleToStartTimeout }).catch(
      (error: unknown) => {
        if (isNotStarted(error)) return ask();
        throw error;
      },
    );
  }

  /** A command waits at one host, whose slots bound all commands there: the one that has a checkout, or makes one. */
  private async commandAnywhere<R extends object>(input: Place, ask: Ask<R>): Promise<R> {
    for (;;) {
      const host = this.last ?? (await this.findHost(input));
      const queue = this.queueAt(host);
      try {
        return await this.noted(this.watched(input, queue, ask));
      } catch (error) {
        if (!(error instanceof HostGone)) throw error;
        this.last = undefined;
      }
    }
  }

  private async findHost({ stepKey, repository, marked, ...place }: Place): Promise<string> {
    const input: InputOf<'prepareCheckout'> = {
      stepKey,
      log: [],
      handsBack: true,
      ...(repository === undefined ? {} : { repository }),
      ...(place.held === undefined ? {} : { held: place.held }),
      ...(marked === undefined ? {} : { marked }),
    };
    const ask = this.askFor('prepareCheckout', input, 'make a checkout for a command');
    const { host } = await this.noted(this.nearby(ask));
    if (host === undefined) throw new Error('no host made a checkout');
    return host;
  }

  /** ◆ At the dev server of a home its one worker serves workflows too: while nobody serves the host the run does not run. */
  private command<R>(input: Place, ask: Ask<R>): Promise<R> {
    const { workflow, host } = this.run.queues;
    return workflow === host ? ask() : this.watched(input, host, ask);
  }

  private watched<R>(input: Place, queue: string, ask: Ask<R>): Promise<R> {
    const command = () => ask({ taskQueue: commandQueueOf(queue) });
    return this.watch.during(command, () => this.isServed(input, queue));
  }

  /** A look that fails says nothing of the host. */
  private isServed({ stepKey }: Place, queue: string): Promise<boolean> {
    const ask = this.askFor('checkHost', { stepKey, log: [], queue }, 'look for the host');
    return CancellationScope.nonCancellable(() => ask()).then(
      ({ isServed }) => isServed,
      () => true,
    );
  }

  private askFor<N extends ActivityName>(
    activity: N,
    input: InputOf<N>,
    summary: string,
  ): Ask<ResultOf<N>> {
    const { role } = ACTIVITIES[activity];
    const options = optionsOf(activity, this.run, { role, files: 0, timeout_s: 0 });
    return (more = {}) =>
      scheduleActivity<ResultOf<N>>(activity, [versioned(input)], { ...options, summary, ...more });
  }

  private queueAt(host: string): string {
    return queueNames(this.run.queues.workflow, host).host;
  }
}

const isNotStarted = (error: unknown): boolean => {
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
};
