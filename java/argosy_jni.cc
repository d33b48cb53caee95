// The native methods of org.argosy.infer.Native over argosy.h. Java has checked sizes and holds the
// lock of the predictor; nothing here keeps a reference.
#include <jni.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <argosy.h>

namespace {

argosy_predictor* predictor_of(jlong address) {
  return reinterpret_cast<argosy_predictor*>(address);
}

// Throws ArgosyException if the call failed; says whether it did not.
bool ok(JNIEnv* env, argosy_status status) {
  if (status == ARGOSY_OK) return true;
  const char* text = argosy_last_error();
  const auto size = static_cast<jsize>(std::strlen(text));
  jclass type = env->FindClass("org/argosy/infer/ArgosyException");
  jbyteArray bytes = type ? env->NewByteArray(size) : nullptr;
  if (!bytes) return false;  // Java has thrown
  env->SetByteArrayRegion(bytes, 0, size, reinterpret_cast<const jbyte*>(text));
  jmethodID make = env->GetMethodID(type, "<init>", "(I[B)V");
  if (!make) return false;
  jobject error = env->NewObject(type, make, static_cast<jint>(status), bytes);
  if (error) env->Throw(static_cast<jthrowable>(error));
  return false;
}

std::string bytes_of(JNIEnv* env, jbyteArray array) {
  std::string bytes(static_cast<size_t>(array ? env->GetArrayLength(array) : 0), '\0');
  if (!bytes.empty())
    env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()),
                            reinterpret_cast<jbyte*>(bytes.data()));
  return bytes;
}

std::vector<int64_t> shape_of(JNIEnv* env, jlongArray array) {
  std::vector<int64_t> shape(static_cast<size_t>(env->GetArrayLength(array)));
  static_assert(sizeof(jlong) == sizeof(int64_t));
  env->GetLongArrayRegion(array, 0, static_cast<jsize>(shape.size()),
                          reinterpret_cast<jlong*>(shape.data()));
  return shape;
}

jlongArray array_of(JNIEnv* env, const argosy_view& view) {
  std::vector<jlong> values{view.dtype};
  values.insert(values.end(), view.shape, view.shape + std::max(view.rank, 0));
  jlongArray array = env->NewLongArray(static_cast<jsize>(values.size()));
  if (array) env->SetLongArrayRegion(array, 0, static_cast<jsize>(values.size()), values.data());
  return array;
}

// The elements of a primitive array while the library copies them: no call of Java in between.
class Elements {
 public:
  Elements(JNIEnv* env, jobject array, jint mode)
      : env_(env),
        array_(static_cast<jarray>(array)),
        mode_(mode),
        data_(env->GetPrimitiveArrayCritical(array_, nullptr)) {}
  ~Elements() {
    if (data_) env_->ReleasePrimitiveArrayCritical(array_, data_, mode_);
  }
  Elements(const Elements&) = delete;
  void* data() const { return data_; }

 private:
  JNIEnv* env_;
  jarray array_;
  jint mode_;
  void* data_;
};

bool set_options(JNIEnv* env, argosy_options* options, const std::string& model,
                 const std::string& weights, bool in_memory, const std::string& program_bytes,
                 const std::string& weight_bytes, jint threads, jlong memory_limit,
                 jdouble time_limit, jlong kept_shapes, jboolean optimize) {
  const char* beside = weights.empty() ? nullptr : weights.c_str();
  if (!ok(env, in_memory ? argosy_options_set_model_memory(options, program_bytes.data(),
                                                           program_bytes.size(),
                                                           weight_bytes.data(), weight_bytes.size())
                         : argosy_options_set_model(options, model.c_str(), beside)))
    return false;
  if (threads && !ok(env, argosy_options_set_threads(options, threads))) return false;
  if (memory_limit &&
      !ok(env, argosy_options_set_memory_limit(options, static_cast<size_t>(memory_limit))))
    return false;
  if (time_limit && !ok(env, argosy_options_set_time_limit(options, time_limit))) return false;
  if (kept_shapes &&
      !ok(env, argosy_options_set_kept_shapes(options, static_cast<size_t>(kept_shapes))))
    return false;
  return ok(env, argosy_options_set_optimize(options, optimize));
}

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_org_argosy_infer_Native_create(JNIEnv* env, jclass, jbyteArray model,
                                                            jbyteArray weights,
                                                            jbyteArray program_bytes,
                                                            jbyteArray weight_bytes, jint threads,
                                                            jlong memory_limit, jdouble time_limit,
                                                            jlong kept_shapes, jboolean optimize) {
  const std::string path = bytes_of(env, model), beside = bytes_of(env, weights);
  const std::string program = bytes_of(env, program_bytes), values = bytes_of(env, weight_bytes);
  argosy_options* options = nullptr;
  argosy_predictor* predictor = nullptr;
  if (!ok(env, argosy_options_create(ARGOSY_ABI_VERSION, &options))) return 0;
  if (set_options(env, options, path, beside, program_bytes != nullptr, program, values, threads,
                  memory_limit, time_limit, kept_shapes, optimize))
    ok(env, argosy_predictor_create(options, &predictor));
  argosy_options_destroy(options);
  return reinterpret_cast<jlong>(predictor);
}

JNIEXPORT jlong JNICALL Java_org_argosy_infer_Native_duplicate(JNIEnv* env, jclass, jlong address) {
  argosy_predictor* clone = nullptr;
  ok(env, argosy_predictor_clone(predictor_of(address), &clone));
  return reinterpret_cast<jlong>(clone);
}

JNIEXPORT void JNICALL Java_org_argosy_infer_Native_destroy(JNIEnv*, jclass, jlong address) {
  argosy_predictor_destroy(predictor_of(address));
}

JNIEXPORT jobjectArray JNICALL Java_org_argosy_infer_Native_names(JNIEnv* env, jclass,
                                                                  jlong address, jboolean outputs) {
  argosy_predictor* p = predictor_of(address);
  const size_t count = outputs ? argosy_predictor_output_count(p) : argosy_predictor_input_count(p);
  jclass bytes = env->FindClass("[B");
  jobjectArray names =
      bytes ? env->NewObjectArray(static_cast<jsize>(count), bytes, nullptr) : nullptr;
  for (size_t i = 0; names && i < count; ++i) {
    const char* name = nullptr;
    argosy_view view;
    if (!ok(env, outputs ? argosy_predictor_describe_output(p, i, &name, &view)
                         : argosy_predictor_describe_input(p, i, &name, &view)))
      return nullptr;
    const auto size = static_cast<jsize>(std::strlen(name));
    jbyteArray text = env->NewByteArray(size);
    if (!text) return nullptr;
    env->SetByteArrayRegion(text, 0, size, reinterpret_cast<const jbyte*>(name));
    env->SetObjectArrayElement(names, static_cast<jsize>(i), text);
    env->DeleteLocalRef(text);
  }
  return names;
}

JNIEXPORT jlongArray JNICALL Java_org_argosy_infer_Native_describe(JNIEnv* env, jclass,
                                                                   jlong address, jboolean output,
                                                                   jint place) {
  const char* name = nullptr;
  argosy_view view;
  const auto i = static_cast<size_t>(place);
  argosy_predictor* p = predictor_of(address);
  if (!ok(env, output ? argosy_predictor_describe_output(p, i, &name, &view)
                      : argosy_predictor_describe_input(p, i, &name, &view)))
    return nullptr;
  return array_of(env, view);
}

JNIEXPORT void JNICALL Java_org_argosy_infer_Native_copyInput(JNIEnv* env, jclass, jlong address,
                                                              jint place, jint data_type,
                                                              jlongArray shape, jobject array) {
  const std::vector<int64_t> sizes = shape_of(env, shape);
  argosy_status status;
  {
    const Elements elements(env, array, JNI_ABORT);
    if (!elements.data()) return;
    status = argosy_predictor_copy_input(
        predictor_of(address), static_cast<size_t>(place), static_cast<argosy_dtype>(data_type),
        static_cast<int32_t>(sizes.size()), sizes.data(), elements.data());
  }
  ok(env, status);
}

JNIEXPORT void JNICALL Java_org_argosy_infer_Native_borrowInput(JNIEnv* env, jclass, jlong address,
                                                                jint place, jint data_type,
                                                                jlongArray shape, jobject buffer) {
  const std::vector<int64_t> sizes = shape_of(env, shape);
  ok(env, argosy_predictor_borrow_input(predictor_of(address), static_cast<size_t>(place),
                                        static_cast<argosy_dtype>(data_type),
                                        static_cast<int32_t>(sizes.size()), sizes.data(),
                                        env->GetDirectBufferAddress(buffer)));
}

JNIEXPORT void JNICALL Java_org_argosy_infer_Native_run(JNIEnv* env, jclass, jlong address) {
  ok(env, argosy_predictor_run(predictor_of(address)));
}

JNIEXPORT jlongArray JNICALL Java_org_argosy_infer_Native_result(JNIEnv* env, jclass, jlong address,
                                                                 jint place) {
  argosy_view view;
  if (!ok(env,
          argosy_predictor_view_output(predictor_of(address), static_cast<size_t>(place), &view)))
    return nullptr;
  return array_of(env, view);
}

JNIEXPORT void JNICALL Java_org_argosy_infer_Native_copyOutput(JNIEnv* env, jclass, jlong address,
                                                               jint place, jobject array,
                                                               jlong bytes) {
  argosy_status status;
  {
    const Elements elements(env, array, 0);
    if (!elements.data()) return;
    status = argosy_predictor_copy_output(predictor_of(address), static_cast<size_t>(place),
                                          elements.data(), static_cast<size_t>(bytes));
  }
  ok(env, status);
}

JNIEXPORT void JNICALL Java_org_argosy_infer_Native_releaseMemory(JNIEnv* env, jclass,
                                                                  jlong address) {
  ok(env, argosy_predictor_release_memory(predictor_of(address)));
}

}  // extern "C"
