/** Times. `Ns` is nanoseconds from an origin: exact as a number up to 2^53, 104 days. Which origin, the name says:
 *
 *   rankNs   from the origin of a rank (all that the server says of one rank)
 *   viewNs   from the origin of the view, that of the first rank: rankNs + shift of the rank (model/session.ts)
 *
 * An epoch in nanoseconds does not fit; it is a bigint or a decimal string. */
declare const unit: unique symbol;
export type Ns = number & { readonly [unit]?: "ns" };
