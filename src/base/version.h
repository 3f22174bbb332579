/* The version, in one place. */
#ifndef PS_BASE_VERSION_H
#define PS_BASE_VERSION_H

#define PS_VERSION "0.1.0"

#endif
