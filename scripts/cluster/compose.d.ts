/** What tests take of compose.js. */
type What = 'run' | 'check' | readonly string[];
type Variables = Readonly<Record<string, string>>;
export declare const serviceProcess: (
  state: unknown,
  name: string,
  variables?: Variables,
  what?: What,
) => Promise<{
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}>;
export declare const runService: (
  state: unknown,
  name: string,
  limit_ms: number,
  variables?: Variables,
  what?: What,
) => Promise<string>;
export declare const readService: (
  name: string,
  variables: Variables,
) => Promise<{
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}>;
