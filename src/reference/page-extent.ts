/** Where a page's bytes are: all pages have one stride, of which a group uses the front. */
export interface PageExtent {
  /** Words from one page to the next. */
  readonly strideWords: number;
  /** Words at the front of the page that belong to its group. */
  readonly pageWords: number;
}
