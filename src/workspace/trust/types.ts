/** Types of the files that Emend obeys, and of the doubts about them. */

/** A file of a workspace that Emend or a model obeys. */
export interface ConfigurationFile {
  /** Relative to the workspace, or absolute. */
  readonly path: string;
  /** Path of the file that is really read, relative to the workspace; absent: no link leads from `path` to another file. */
  readonly realPath?: string;
  readonly kind: 'config' | 'job' | 'plan' | 'instructions' | 'policy';
  /** The text; of a file that is missing: empty. */
  readonly text: string;
  /** `contentHash` of the text: other line ends, a BOM and blanks at the end of lines make no other hash. */
  readonly hash: string;
  /** No command of this workspace can have written it; absent: one can. */
  readonly isElsewhere?: true;
}

/** A file whose content may be a model's. */
export interface Doubt {
  readonly path: string;
  readonly hash: string;
  /** Completes "emend.yaml: ". */
  readonly reason: string;
  /** New permissions that the content would give. Each entry completes "Emend may ". */
  readonly grants: readonly string[];
}
