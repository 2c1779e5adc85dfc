/* What the registry knows of an image: where it is (image.c), and what keeps it loaded (pin.c). */
#ifndef PD__IMAGE_H
#define PD__IMAGE_H

#include "registry.h"

struct pd_module {
  const char *path;     /* as the loader knows it; interned */
  uint32_t number : 31; /* from 1 on; never reused */
  uintptr_t low, high;
  uint32_t generation; /* changes whenever a module joins or leaves at this node */
  bool present;
  bool stays;               /* never unloaded, as in pd__platform_image */
  bool has_record;          /* its record announces when it leaves */
  bool permanent;           /* permanently, by a reference of the loader: others call its code */
  uint32_t loads_under_way; /* pd_module_load calls under way that have opened it */
  uint32_t opened;          /* times opened by pd_module_load and not yet closed */
  uint32_t pinned;          /* by operations, while it is held */
  void *handle;             /* of the loader; used while it is held or `closing` isn't 0 */
  uint32_t closing;         /* how often to close the handle once nothing pins it */
  uint32_t closers;         /* closings under way, each of which ends with pd__module_closed */
  uint32_t registrations;   /* hooks and definitions of an image without a record, which `reference`
                               keeps loaded */
  void *reference;
  struct pd__membership *membership;
};

#endif /* PD__IMAGE_H */
