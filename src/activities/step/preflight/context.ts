/** What every stage of preflight works with. */
import type { PreflightInput } from '../../../shared/step-activities.js';
import { listWorkspaceFiles } from '../../../workspace/files/index.js';
import type { ActivityScope } from '../../frame/activity.js';
import type { ActivityPorts } from '../../frame/ports.js';

export interface PreflightContext extends Pick<ActivityScope, 'signal'> {
  readonly ports: ActivityPorts;
  readonly input: PreflightInput;
  /** Directory of the workspace on this host. */
  readonly root: string;
  /** Returns the files of the workspace. The first call lists them, and the others get the same list. */
  readonly listFiles: () => Promise<readonly string[]>;
}

export const createContext = (values: Omit<PreflightContext, 'listFiles'>): PreflightContext => ({
  ...values,
  listFiles: once(() => listWorkspaceFiles(values.root)),
});

/** Returns a function that reads once, if it is called at all. */
export const once = <T>(read: () => Promise<T>): (() => Promise<T>) => {
  let value: Promise<T> | null = null;
  return () => (value ??= read());
};
