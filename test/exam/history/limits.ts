/** Limits of the exam, so that memory stays bounded whatever a repository holds. */

/** Larger files are counted and passed over. */
export const maxFile_bytes = 8 * 1024 * 1024;
/** What one change of one file may be said in, over both sides; a line diff past this is not tried. */
export const maxLines = 400_000;
/** Examples shown for each class of refusal. */
export const examplesShown = 3;
/** Wrong results shown in full. */
export const wrongShown = 20;
