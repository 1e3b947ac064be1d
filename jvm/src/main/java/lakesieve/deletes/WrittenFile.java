package lakesieve.deletes;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The positions of one data file in a new delete file, as Python describes them in JSON.
 *
 * @param file path of the delete file
 * @param dataFile path of the data file
 * @param offset where the deletion vector begins in the delete file
 * @param length bytes of the deletion vector
 * @param positions number of deleted rows
 * @param size bytes of the delete file
 * @param first the lowest deleted position
 * @param last the highest deleted position
 */
record WrittenFile(
    @JsonProperty("file") String file,
    @JsonProperty("data_file") String dataFile,
    @JsonProperty("offset") long offset,
    @JsonProperty("length") long length,
    @JsonProperty("positions") long positions,
    @JsonProperty("size") long size,
    @JsonProperty("first") long first,
    @JsonProperty("last") long last) {}
