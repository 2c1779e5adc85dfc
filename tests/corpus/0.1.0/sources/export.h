/* How a plugin of the corpus exports a function that its host calls. */
#if defined(_WIN32) && defined(__cplusplus)
#define EXPORT extern "C" __declspec(dllexport)
#elif defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__cplusplus)
#define EXPORT extern "C" __attribute__((visibility("default")))
#else
#define EXPORT __attribute__((visibility("default")))
#endif
